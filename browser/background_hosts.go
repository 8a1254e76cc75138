package browser

// BackgroundHosts returns the hosts that Chrome contacts by itself and that no page needs: updates of components and extensions,
// variations, time, messaging, hints, crash reports. Flags and preferences disable most of this traffic; a relay should refuse the rest. A
// name is as proxy.Policy takes it: ".name" stands for all names below it.
//
// Sign-in (accounts.google.com) and Safe Browsing are not included, since people need them. docs/background-traffic.md explains every host.
func BackgroundHosts() []string {
	return []string{
		"update.googleapis.com",               // updates of components and extensions
		"clients2.google.com",                 // updates of extensions, time
		"clients4.google.com",                 // sync, network time
		"clientservices.googleapis.com",       // variations
		"redirector.gvt1.com",                 // downloads of components and dictionaries
		"edgedl.me.gvt1.com",                  // downloads of components and dictionaries
		"optimizationguide-pa.googleapis.com", // hints and models
		"content-autofill.googleapis.com",     // types of form fields
		"android.clients.google.com",          // check-in of messaging (GCM)
		"mtalk.google.com",                    // messaging (GCM)
		"clients1.google.com",                 // crash reports and older services
		"crashpad.chromium.org",               // crash reports
	}
}
