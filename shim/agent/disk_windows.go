package agent

import "os"

const (
	openFlags   = os.O_RDONLY
	folderFlags = os.O_RDONLY
)
