package agent

import "os"

const openFlags = os.O_RDONLY
