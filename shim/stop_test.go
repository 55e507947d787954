package shim_test

import (
	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// stop stops the run that is going on.
func stop(s *shimtest.Stage) {
	s.T.Helper()
	var reply struct{ ID, State string }
	if status := s.JSON("POST", "/runs/"+newest(s).ID+"/stop", nil, &reply); status != 200 || reply.State != "stopping" {
		s.T.Fatalf("stop: %d %+v", status, reply)
	}
}
