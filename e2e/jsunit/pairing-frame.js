// Runs in: pairing-page.html and pairing-other.html, before the content script:
// the chrome that the test has made for it.

Object.assign(window, { chrome: parent.chromeForFrame });
