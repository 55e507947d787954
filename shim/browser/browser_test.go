package browser

import (
	"strings"
	"testing"
)

// TestComplaint: the line that tells why, without what is logged before it.
func TestComplaint(t *testing.T) {
	for said, want := range map[string]string{
		"": "",
		"error while loading shared libraries: libnss3.so": "error while loading shared libraries: libnss3.so",
		"[1:2:1201/114739.085075:ERROR:dbus/bus.cc:405] Failed to connect to the bus: no such file\n" +
			"[1:2:1201/114739.085897:ERROR:dbus/bus.cc:405] Failed to connect to the bus: unknown address\n" +
			"[1:1:1201/114739.352280:ERROR:ui/ozone/platform/x11/ozone_platform_x11.cc:257] Missing X server or $DISPLAY\n" +
			"[1:1:1201/114739.352321:ERROR:ui/aura/env.cc:253] The platform failed to initialize.  Exiting.\n": "Missing X server or $DISPLAY",
		"[1:2:1201/114739.085075:ERROR:dbus/bus.cc:405] Failed to connect to the bus": "",
	} {
		if got := complaint(said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}

// TestTail: what is kept begins with a whole line.
func TestTail(t *testing.T) {
	var kept tail
	for _, s := range []string{"first\n", strings.Repeat("x", tailSize), "\nlast\n"} {
		if _, err := kept.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	if got := kept.String(); got != "last" {
		t.Errorf("%.40q", got)
	}
}
