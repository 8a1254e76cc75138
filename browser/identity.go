package browser

// Identity is what a run's pages are told. What is left out is the host's own: then nothing of it is emulated, and nothing can contradict.
type Identity struct {
	// OS is win, mac or linux; "" is the host's.
	OS string `json:"os"`
	// Version is a major version, "124"; "" is the browser's own.
	Version string `json:"version"`
	// Timezone is an IANA name; "" is the host's.
	Timezone string `json:"timezone"`
	// Languages is navigator.languages, most wanted first, as BCP 47 tags; the first is also the locale of Intl. nil is the host's.
	Languages []string `json:"languages"`
	// Geolocation is where pages believe to be; nil: Chrome asks the person and the host.
	Geolocation *Geolocation `json:"geolocation"`
	// Screen is the display that pages see; nil is the browser's own.
	Screen *Screen `json:"screen"`
}

// Geolocation is a position that pages get without being asked, or, with Off, none: they are denied it.
type Geolocation struct {
	Off                           bool
	Latitude, Longitude, Accuracy float64 // degrees (WGS 84), metres
}

// Screen is a display in CSS pixels.
type Screen struct {
	Width, Height     int
	DeviceScaleFactor float64 // device pixels per CSS pixel
}
