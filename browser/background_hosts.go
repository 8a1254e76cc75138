package browser

// BackgroundHosts are the hosts that Chrome asks for itself, and no page needs: updates of components and extensions, variations, time,
// messaging, hints, crash reports. Flags and preferences silence most of them; a relay refuses what is left. Names are as
// proxy.Policy takes them: ".name" stands for every name that ends so. What people sign in to (accounts.google.com) is not among them,
// nor is safe browsing, which warns them: these go through the relay.
// docs/background-traffic.md says what each is for.
func BackgroundHosts() []string {
	return []string{
		"update.googleapis.com",               // components and extensions: what there is to update
		"clients2.google.com",                 // extensions' updates, time
		"clients4.google.com",                 // sync's and network time's
		"clientservices.googleapis.com",       // variations
		"redirector.gvt1.com",                 // downloads of components and dictionaries
		"edgedl.me.gvt1.com",                  // the same
		"optimizationguide-pa.googleapis.com", // hints and models
		"content-autofill.googleapis.com",     // what forms' fields are
		"android.clients.google.com",          // check-in of messaging (GCM)
		"mtalk.google.com",                    // messaging (GCM)
		"clients1.google.com",                 // crash reports and older services
		"crashpad.chromium.org",               // crash reports
	}
}
