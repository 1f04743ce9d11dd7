# Every command of the project. `make` alone lists them; CONTRIBUTING.md explains.
#
# A fresh Debian 12 needs gcc, g++, make, git, python3 with pip, and Rust, and for
# `test` the other packages of CONTRIBUTING.md. All other tools (cmake, libclang,
# ruff, ...) are pinned wheels in .venv.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# The steps of `test` come in their written order, whatever -j says.
.NOTPARALLEL:

VENV := .venv
PYTHON := $(VENV)/bin/python
TARGET := $(or $(CARGO_TARGET_DIR),target)
EXTENSION := $(TARGET)/debug/lib_engine.so
SERVER := $(TARGET)/debug/slackwater-api
DIST_FOLDER := $(TARGET)/dist

# The environment of all tools, set in this one place. Build scripts compare
# these values: a different spelling of the same path compiles HiGHS anew.
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export PYO3_PYTHON := $(CURDIR)/$(VENV)/bin/python
# Expanded late, because the folder appears only with `make setup`.
export LIBCLANG_PATH = $(shell echo $(CURDIR)/$(VENV)/lib/python3.*/site-packages/clang/native)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The certificates of the system, as pip takes them: a company may have its own.
export UV_SYSTEM_CERTS := true

# A machine of CI compiles everything once. Elsewhere all builds are alike: with and without incremental
# compilation cargo compiles the workspace twice, so a first build without it would cost the next one.
ifneq ($(CI),)
export CARGO_INCREMENTAL := 0
endif

# Tests and daily work use the dev profile, what ships and what is measured uses
# `dist` (see Cargo.toml). The whole workspace, or the bindings with the same features:
# HiGHS and all else is compiled once per profile.
WORKSPACE := --locked --workspace
DIST := --locked --workspace --profile dist
# Without `lp` the engine needs no C++ and is quick to check on its own. So are `control` and `sim`, which keep to the same bans.
ENGINE_ALONE := --locked -p slackwater-engine -p slackwater-control -p slackwater-sim --no-default-features

# `step NAME` heads the output of a check, with the time of day at which it begins.
step = @printf '\n== %s (%s)\n' '$(1)' "$$(date +%T)"

.PHONY: help
help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---------------------------------------------------------------- preparing

.PHONY: setup
setup: $(VENV)/.tools-installed ## Create .venv with the pinned tools (done by the others when needed)

# Debian splits ensurepip off, and without it `venv` makes no pip: virtualenv
# then does the same from a private folder, with nothing installed system-wide.
$(VENV)/bin/python:
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo 'error: Python 3.11 or newer is needed as python3' >&2; exit 1; }
	@if python3 -c 'import ensurepip, venv' 2>/dev/null; then \
		python3 -m venv $(VENV); \
	else \
		python3 -m pip install --quiet --break-system-packages --target .tools 'virtualenv==20.35.4'; \
		PYTHONPATH=.tools python3 -m virtualenv --quiet $(VENV); \
	fi

$(VENV)/.tools-installed: requirements-build.txt requirements-dev.txt | $(VENV)/bin/python
	$(PYTHON) -m pip install --quiet -r requirements-build.txt
	uv pip install --quiet --python $(PYTHON) -r requirements-dev.txt
	@touch $@

$(VENV)/.cross-installed: requirements-cross.txt | $(VENV)/.tools-installed
	uv pip install --quiet --python $(PYTHON) -r requirements-cross.txt
	@touch $@

$(VENV)/.peers-installed: requirements-bench.txt | $(VENV)/.tools-installed
	uv pip install --quiet --python $(PYTHON) -r requirements-bench.txt
	@touch $@

$(VENV)/.cluster-installed: requirements-cluster.txt | $(VENV)/.tools-installed
	uv pip install --quiet --python $(PYTHON) -r requirements-cluster.txt
	@touch $@

# FlexMeasures binds versions of a hundred packages, so it has an environment of its own. It sees
# our package where its sources are.
FLEXMEASURES := .venv-flexmeasures
$(FLEXMEASURES)/.installed: requirements-flexmeasures.txt | $(VENV)/.tools-installed
	uv venv --quiet --clear --python $(PYTHON) $(FLEXMEASURES)
	uv pip install --quiet --python $(FLEXMEASURES)/bin/python -r requirements-flexmeasures.txt
	@touch $@

# Home Assistant binds hundreds of versions, some of them other than ours.
HOME_ASSISTANT := .venv-home-assistant
$(HOME_ASSISTANT)/.installed: requirements-home-assistant.txt | $(VENV)/.tools-installed
	uv venv --quiet --clear --python $(PYTHON) $(HOME_ASSISTANT)
	uv pip install --quiet --python $(HOME_ASSISTANT)/bin/python -r requirements-home-assistant.txt
	@touch $@

# OCHRE binds older versions of numpy and others. Of ev2gym only its file of prices is read, so what it
# imports is not installed.
# A Debian for arm64, whose Python runs the wheel for ARM.
ARM_ROOT := $(TARGET)/arm64
HOUSES := .venv-houses
$(HOUSES)/.installed: requirements-houses.txt | $(VENV)/.tools-installed
	uv venv --quiet --clear --python $(PYTHON) $(HOUSES)
	uv pip install --quiet --python $(HOUSES)/bin/python -r requirements-houses.txt
	uv pip install --quiet --python $(HOUSES)/bin/python --no-deps ev2gym==2.0.0
	@touch $@

$(VENV)/.learning-installed: requirements-learning.txt | $(VENV)/.tools-installed
	uv pip install --quiet --python $(PYTHON) -r requirements-learning.txt
	@touch $@

$(VENV)/.intraday-installed: requirements-intraday.txt | $(VENV)/.tools-installed
	uv pip install --quiet --python $(PYTHON) -r requirements-intraday.txt
	@touch $@

# HiGHS compiles for minutes before its bindings are generated. What they need
# is looked for first, so that a gap costs a second and not those minutes.
.PHONY: tools
tools: setup
	@missing() { echo "error: $$1" >&2; exit 1; }; \
	command -v cargo >/dev/null || missing "cargo is not on PATH; install Rust 1.95 or newer"; \
	command -v g++ >/dev/null || missing "g++ is not on PATH; HiGHS is C++ (Debian: apt-get install g++)"; \
	command -v cmake >/dev/null || missing "cmake is not in $(VENV); remove $(VENV) and run make setup"; \
	ls "$$LIBCLANG_PATH"/libclang.* >/dev/null 2>&1 \
		|| missing "no libclang in $$LIBCLANG_PATH; remove $(VENV) and run make setup"

.PHONY: lock
lock: setup ## Resolve the Python requirements anew, from pyproject.toml
	uv pip compile --quiet --universal --python-version 3.11 --upgrade --extra all --group dev \
		--custom-compile-command 'make lock' --no-emit-index-url --no-emit-find-links \
		pyproject.toml --output-file requirements-dev.txt
	uv pip compile --quiet --universal --python-version 3.11 --upgrade --group bench \
		--constraints requirements-dev.txt --no-annotate \
		--custom-compile-command 'make lock' --no-emit-index-url --no-emit-find-links \
		pyproject.toml --output-file requirements-bench.txt
	uv pip compile --quiet --universal --python-version 3.11 --upgrade --group cluster \
		--constraints requirements-dev.txt --no-annotate \
		--custom-compile-command 'make lock' --no-emit-index-url --no-emit-find-links \
		pyproject.toml --output-file requirements-cluster.txt
	uv pip compile --quiet --universal --python-version 3.11 --upgrade --group cross --no-annotate \
		--custom-compile-command 'make lock' --no-emit-index-url --no-emit-find-links \
		pyproject.toml --output-file requirements-cross.txt
	uv pip compile --quiet --universal --python-version 3.11 --upgrade --group learning \
		--constraints requirements-dev.txt --no-annotate \
		--custom-compile-command 'make lock' --no-emit-index-url --no-emit-find-links \
		pyproject.toml --output-file requirements-learning.txt
	uv pip compile --quiet --universal --python-version 3.11 --upgrade --group intraday \
		--constraints requirements-dev.txt --no-annotate \
		--custom-compile-command 'make lock' --no-emit-index-url --no-emit-find-links \
		pyproject.toml --output-file requirements-intraday.txt
	uv pip compile --quiet --universal --python-version 3.11 --upgrade \
		--extra flexmeasures --group flexmeasures --no-annotate \
		--custom-compile-command 'make lock' --no-emit-index-url --no-emit-find-links \
		pyproject.toml --output-file requirements-flexmeasures.txt
	uv pip compile --quiet --universal --python-version 3.11 --upgrade --group houses --no-annotate \
		--custom-compile-command 'make lock' --no-emit-index-url --no-emit-find-links \
		pyproject.toml --output-file requirements-houses.txt
	uv pip compile --quiet --python-version 3.11 --upgrade --group home-assistant --no-annotate \
		--custom-compile-command 'make lock' --no-emit-index-url --no-emit-find-links \
		pyproject.toml --output-file requirements-home-assistant.txt

# ----------------------------------------------------------------- building

.PHONY: build
build: tools ## Compile everything and install the Python package in place
	cargo build $(WORKSPACE)
	@$(PYTHON) scripts/install_editable.py $(EXTENSION)
	@$(MAKE) --silent --no-print-directory $(VENV)/.package-installed

# A third of the crates. They are compiled with the features that the workspace gives them, so
# that `build` compiles none of them again (a test of `tests/tree` compares the features).
.PHONY: package
package: tools ## Compile the Python package alone and install it in place
	cargo build --locked --package slackwater-bindings
	@$(PYTHON) scripts/install_editable.py $(EXTENSION)
	@$(MAKE) --silent --no-print-directory $(VENV)/.package-installed

# The optimised twin of `build`: what wheels and benches run. The next `build`
# puts the extension of the dev profile back.
.PHONY: dist
dist: tools ## Compile what ships, optimised across crates, and install the package in place
	cargo build $(DIST)
	@$(PYTHON) scripts/install_editable.py $(DIST_FOLDER)/lib_engine.so
	@$(MAKE) --silent --no-print-directory $(VENV)/.package-installed

# Metadata and entry points only: the extension is placed by each `build` and `dist`.
$(VENV)/.package-installed: pyproject.toml README.md scripts/install_editable.py | $(VENV)/.tools-installed
	$(PYTHON) scripts/install_editable.py --package $(EXTENSION)
	@touch $@

.PHONY: wheel
wheel: tools ## Write a wheel for other machines, and the source distribution, into dist/
	maturin build --locked --profile dist --compression-level 9 --out dist
	maturin sdist --out dist

# The same check runs on every package of a release, on each system. The wheel of the source
# distribution is built in the same folder, so that HiGHS is not compiled again.
.PHONY: wheel-test
wheel-test: wheel ## Write packages, check their size, run the guide's first page with each
	CARGO_TARGET_DIR='$(abspath $(TARGET))' $(PYTHON) scripts/check_wheel.py \
		"$$(ls -t dist/*.whl | head -n 1)" "$$(ls -t dist/*.tar.gz | head -n 1)"

# The part of it that `test` can afford: a wheel of what is compiled already, with its symbols. The source distribution is
# compiled among links to what is, since its crates lie elsewhere and the extension of `build` stays. Without a network cargo takes
# the versions of its Cargo.lock, from which it strikes the crates that are not in it.
.PHONY: wheel-short
wheel-short: build
	$(call step,wheel in an empty environment)
	rm -rf $(TARGET)/wheel
	CARGO='$(CURDIR)/scripts/cargo_as_built.sh' \
		maturin build --quiet --locked --profile dev --features default --auditwheel skip --out $(TARGET)/wheel
	$(PYTHON) scripts/check_wheel.py --size-max-mb 100 $(TARGET)/wheel/*.whl
	$(call step,source distribution in an empty environment)
	maturin sdist --out $(TARGET)/wheel
	rm -rf $(TARGET)/sdist
	mkdir $(TARGET)/sdist
	cp --archive --link $(TARGET)/debug $(TARGET)/sdist/debug
	rm -f $(TARGET)/sdist/debug/.cargo-lock
	CARGO='$(CURDIR)/scripts/cargo_as_built.sh' CARGO_TARGET_DIR='$(abspath $(TARGET))/sdist' CARGO_NET_OFFLINE=true \
		MATURIN_PEP517_ARGS='--profile dev --features default' \
		$(PYTHON) scripts/check_wheel.py --size-max-mb 100 $(TARGET)/wheel/*.tar.gz
	rm -rf $(TARGET)/sdist

# zig links against an old C library, and against musl. Rust has no musl for ARMv7 everywhere, so
# that program is linked with Debian's C library, statically.
.PHONY: arm
arm: export CARGO_TARGET_ARMV7_UNKNOWN_LINUX_GNUEABIHF_LINKER := arm-linux-gnueabihf-g++
arm: export CARGO_TARGET_ARMV7_UNKNOWN_LINUX_GNUEABIHF_RUSTFLAGS := -C target-feature=+crt-static
arm: export CMAKE_TOOLCHAIN_FILE_armv7_unknown_linux_gnueabihf := $(CURDIR)/.cargo/armv7.cmake
arm: export BINDGEN_EXTRA_CLANG_ARGS_armv7_unknown_linux_gnueabihf := --sysroot=/usr/arm-linux-gnueabihf -I/usr/arm-linux-gnueabihf/include
arm: build $(VENV)/.cross-installed $(ARM_ROOT) ## Cross-build the wheel and slackwater-evcc for ARM, and try them in QEMU (root or packages of Debian)
	rustup target add aarch64-unknown-linux-gnu aarch64-unknown-linux-musl armv7-unknown-linux-gnueabihf
	rm -rf dist/arm
	maturin build --locked --profile dist --compression-level 9 --zig --target aarch64-unknown-linux-gnu \
		--compatibility manylinux_2_28 --out dist/arm
	cargo zigbuild --locked --profile dist -p slackwater-evcc --target aarch64-unknown-linux-musl
	cargo build --locked --profile dist -p slackwater-evcc --target armv7-unknown-linux-gnueabihf
	cp $(TARGET)/aarch64-unknown-linux-musl/dist/slackwater-evcc dist/arm/slackwater-evcc-aarch64
	cp $(TARGET)/armv7-unknown-linux-gnueabihf/dist/slackwater-evcc dist/arm/slackwater-evcc-armv7
	$(PYTHON) scripts/check_arm.py $(ARM_ROOT) --wheel dist/arm/*.whl --native $(TARGET)/debug/slackwater-evcc \
		--emulated aarch64=dist/arm/slackwater-evcc-aarch64 arm=dist/arm/slackwater-evcc-armv7

$(ARM_ROOT):
	@missing=''; for package in debootstrap g++-arm-linux-gnueabihf qemu-user-static; do \
		dpkg-query --status $$package > /dev/null 2>&1 || missing="$$missing $$package"; done; \
	if [ -n "$$missing" ] && [ "$$(id -u)" = 0 ]; then apt-get install --quiet --yes $$missing; \
	elif [ -n "$$missing" ]; then echo "error: apt-get install$$missing" >&2; exit 1; fi
	debootstrap --foreign --arch=arm64 --variant=minbase --include=python3 bookworm $@

.PHONY: deb
deb: dist ## Write a Debian package of the service into dist/
	$(PYTHON) scripts/make_deb.py $(DIST_FOLDER)/slackwater-api dist

# Debian's buildah; no network. Fails above 30 MB.
.PHONY: image
image: dist ## Write a container image of the service alone into dist/ (needs buildah)
	$(PYTHON) scripts/make_image.py $(DIST_FOLDER)/slackwater-api dist/slackwater-image.tar.gz

.PHONY: demo
demo: package ## Plan a fleet against a year of prices; DATA=folder takes your files
	$(PYTHON) scripts/demo.py $(if $(DATA),--data '$(DATA)')

# A database of its own: each run begins with the same street.
.PHONY: serve
serve: build ## Serve a sandbox of twenty homes on an evening, and print what to try
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	SLACKWATER_STORE__URL="sqlite:$$folder/sandbox.db" \
		$(SERVER) --config scenarios/evening.toml serve --welcome $(if $(CLOCK),--clock $(CLOCK))

# ----------------------------------------------------------------- checking

# Cheap before dear, the engine before its users, Rust before Python.
RUST_CHECKS := lock-current fmt tree engine-lint rust-lint rust-test rust-doc example
PYTHON_CHECKS := python-lint python-types python-stubs python-test ocpp home-assistant notebooks wheel-short site
SERVICE_CHECKS := requirements fuzz kills-short crash-short night-short night-ocpp-short

.PHONY: test
test: tools workflows $(RUST_CHECKS) build $(PYTHON_CHECKS) $(SERVICE_CHECKS) ## Run every check, the one thing CI does
	@printf '\nmake test: every check passed\n'

.PHONY: check
check: tools workflows lock-current fmt engine-lint rust-lint python-lint python-types ## Run the static checks only
	@printf '\nmake check: every check passed\n'

.PHONY: workflows
workflows: setup
	$(call step,workflows of GitHub Actions)
	actionlint .github/workflows/*.yml

.PHONY: lock-current
lock-current: tools
	$(call step,Cargo.lock fits the manifests)
	cargo metadata --locked --format-version 1 >/dev/null
	cargo metadata --locked $(EXAMPLE) --format-version 1 >/dev/null

.PHONY: fmt
fmt: tools
	$(call step,Rust format)
	cargo fmt --all --check

# What reads the text of the tree needs no HiGHS, and says within a minute what is out of place.
.PHONY: tree
tree: tools
	$(call step,layers and sizes of the tree)
	cargo nextest run --locked -p slackwater-tree

# The engine comes first and alone. In one build with the other crates, features
# that they switch on (a clock, for one) would be there for it, too. Its tests run with
# those of the workspace: to compile it twice more takes five minutes of processor.
.PHONY: engine-lint
engine-lint: tools
	$(call step,engine alone: lints)
	cargo clippy $(ENGINE_ALONE) -- -D warnings

.PHONY: engine-test
engine-test: tools ## Test the engine alone, without HiGHS: the quick round while working on it
	$(call step,engine alone: tests)
	cargo nextest run $(ENGINE_ALONE)
	cargo test $(ENGINE_ALONE) --doc

.PHONY: rust-lint
rust-lint: tools
	$(call step,workspace: lints)
	cargo clippy $(WORKSPACE) --all-targets -- -D warnings

tests/oidc/node_modules/.package-lock.json: tests/oidc/package-lock.json | $(VENV)/.tools-installed
	npm --prefix tests/oidc ci --no-audit --no-fund --ignore-scripts

# Some tests read the library that Python loads, and start the server: `build` makes both. One needs an identity
# provider of npm, and fails without it.
.PHONY: rust-test
rust-test: build tests/oidc/node_modules/.package-lock.json
	$(call step,workspace: tests)
	cargo nextest run --no-fail-fast $(WORKSPACE) --filterset 'not package(slackwater-tree)'
	cargo test $(WORKSPACE) --doc

# A workspace of its own, as another project would have. It shares what is compiled.
EXAMPLE := --manifest-path examples/integration/Cargo.toml
.PHONY: example
example: tools ## Build and test the example of an integration
	$(call step,example of an integration)
	cargo fmt $(EXAMPLE) --check
	cargo nextest run --locked --no-default-features $(EXAMPLE) --target-dir $(TARGET)
	cargo test --locked --no-default-features $(EXAMPLE) --target-dir $(TARGET) --doc

.PHONY: rust-doc
rust-doc: tools
	$(call step,workspace: documentation)
	RUSTDOCFLAGS='-D warnings' cargo doc $(WORKSPACE) --no-deps

.PHONY: python-lint
python-lint: setup
	$(call step,Python lints and format)
	ruff check
	ruff format --check

.PHONY: python-types
python-types: setup $(VENV)/.peers-installed
	$(call step,Python types)
	mypy

# The stub of the native module against the module that was built.
.PHONY: python-stubs
python-stubs: setup
	$(call step,stub of the native module)
	$(PYTHON) -m mypy.stubtest --mypy-config-file pyproject.toml slackwater._engine

# Ray and Spark are large, and Spark needs Java: not part of `test`.
.PHONY: cluster
cluster: build $(VENV)/.cluster-installed ## Plan areas on Ray and on Spark (needs Java); compare with one process
	$(PYTHON) -m pytest tests/cluster

tests/ocpp/rpc/node_modules/.package-lock.json: tests/ocpp/rpc/package-lock.json | $(VENV)/.tools-installed
	npm --prefix tests/ocpp/rpc ci --no-audit --no-fund --ignore-scripts

.PHONY: ocpp
ocpp: build tests/ocpp/rpc/node_modules/.package-lock.json ## Let chargers of other projects talk to the integration of OCPP
	$(call step,chargers by OCPP)
	cargo build $(WORKSPACE) --example central --example simulated_production
	$(PYTHON) -m pytest --numprocesses auto --dist loadfile tests/ocpp

# The home of tests/home_assistant at Debian's mosquitto, which is installed where it is missing.
.PHONY: home-assistant
home-assistant: build ## Show a home of the sandbox to Home Assistant, by the broker mosquitto
	$(call step,Home Assistant by MQTT)
	$(PYTHON) -m pytest tests/home_assistant

# Not part of `test`: Home Assistant with its packages is 300 MB, and needs Python 3.11.
.PHONY: home-assistant-core
home-assistant-core: build $(HOME_ASSISTANT)/.installed ## Show a home of the sandbox to Home Assistant itself (Python 3.11)
	$(call step,Home Assistant itself)
	HOME_ASSISTANT=$(HOME_ASSISTANT)/bin/python $(PYTHON) -m pytest tests/home_assistant_core

# Not part of `test`: the VTN is a program of another project, of 262 crates, and needs libssl-dev.
OPENLEADR := $(TARGET)/openleadr
$(OPENLEADR)/bin/openleadr-vtn: | tools
	CARGO_PROFILE_DEV_DEBUG=0 cargo install openleadr-vtn --version 0.2.8 --debug --no-default-features \
		--features postgres,internal-oauth --target-dir $(OPENLEADR)/build --root $(OPENLEADR)

.PHONY: openadr
openadr: build $(OPENLEADR)/bin/openleadr-vtn ## Follow events at the OpenADR 3 server of another project (needs libssl-dev)
	$(call step,events of OpenADR 3)
	$(PYTHON) -m pytest tests/openadr

# Not part of `test`: it waits for real silence. The tests of the crate have a clock of their own.
STEUERBOX := $(TARGET)/steuerbox
$(STEUERBOX)/bin/steuerbox: Cargo.lock | tools
	CARGO_PROFILE_DEV_DEBUG=0 cargo install eebus --version 0.10.1 --example steuerbox --debug --force \
		--features runtime,mdns,ring --target-dir $(STEUERBOX)/build --root $(STEUERBOX)
	@touch $@

.PHONY: eebus
eebus: build $(STEUERBOX)/bin/steuerbox ## Follow a control box by EEBUS, that of the library's authors, with the service
	$(call step,limits of EEBUS)
	STEUERBOX=$(abspath $(STEUERBOX)/bin/steuerbox) $(PYTHON) -m pytest tests/eebus

.PHONY: bills
bills: build ## Compare bills of a thousand random loads with Utilityrate5 of nrel-pysam
	$(call step,bills against another calculator)
	BILL_LOADS=1000 $(PYTHON) -m pytest tests/python/test_bill_peer.py -n auto -q

# Not part of `test`: bitepy has wheels for few platforms.
.PHONY: intraday
intraday: build $(VENV)/.intraday-installed ## Compare rolling intrinsic trades with bitepy, update by update
	$(call step,rolling intrinsic trades against bitepy)
	$(PYTHON) -m pytest tests/intraday -q

# Not part of `test`, which runs the first seeds: minutes.
.PHONY: ocpp-faults
ocpp-faults: ## Balance a site of chargers under faults, with 1,000 seeds
	$(call step,faults of a site with chargers)
	OCPP_FAULT_SEEDS=1000 cargo test $(WORKSPACE) --test faults -- --nocapture

# Not part of `test`: it measures. POINTS=10000 needs as many file descriptors for each side.
.PHONY: ocpp-load
ocpp-load: tools ## Connect POINTS charge points to the service: memory, time to a limit and after a restart
	$(call step,charge points at the service)
	cargo build $(DIST) --bin slackwater-api --example charge_points
	$(PYTHON) scripts/ocpp_load.py $(TARGET)/dist --points $(or $(POINTS),2000)

# Not part of `test`: the library brings PyTorch, which is gigabytes.
.PHONY: learning
learning: build $(VENV)/.learning-installed ## Train a policy of stable-baselines3 in the environment of gymnasium
	$(PYTHON) -m pytest tests/learning

# Not part of `test`: OCHRE with its packages is a gigabyte, and a winter of a house takes a minute.
.PHONY: houses
houses: build $(HOUSES)/.installed ## Heat houses of OCHRE by our plans through a winter; HOUSES_RUN=2 for the first ones
	$(call step,heat plans in houses of OCHRE)
	@mkdir -p out
	PYTHONPATH=$(CURDIR)/bindings/python $(HOUSES)/bin/python -W ignore scripts/houses.py --json out/houses.json \
		$(if $(HOUSES_RUN),--houses $(HOUSES_RUN))

# Not part of `test`: FlexMeasures with its packages is a gigabyte, and its tests take minutes.
# Needs PostgreSQL, as `test` does.
.PHONY: flexmeasures
flexmeasures: build $(FLEXMEASURES)/.installed ## Run FlexMeasures, and its scheduler tests, with our scheduler
	$(call step,FlexMeasures with our scheduler)
	PYTHONPATH=$(CURDIR)/bindings/python $(FLEXMEASURES)/bin/python -m pytest \
		-c tests/flexmeasures/pytest.ini tests/flexmeasures

# The other libraries of the benchmark are tested, too: they must agree on costs.
.PHONY: python-test
python-test: setup $(VENV)/.peers-installed
	$(call step,Python tests and doctests)
	$(PYTHON) -m pytest --numprocesses auto --dist loadfile

# Outputs are committed: numbers of a fresh run are compared with them, pictures by their presence.
.PHONY: notebooks
notebooks: setup
	$(call step,notebooks)
	$(PYTHON) -m pytest --numprocesses auto tests/notebooks

.PHONY: notebooks-write
notebooks-write: package ## Run the notebooks and write their outputs
	$(PYTHON) scripts/notebooks.py --write

.PHONY: site
site: setup
	$(call step,documentation site)
	$(PYTHON) scripts/make_site.py $(TARGET)/doc/site

# Generators of clients and an SDK are fetched from PyPI and npm; node is needed for the latter.
CLIENTS := out/clients

.PHONY: clients
clients: build ## Generate clients of the HTTP interface in Python and TypeScript, compile them; call an SDK
	$(call step,generated clients)
	rm -rf $(CLIENTS)
	mkdir -p $(CLIENTS)
	uvx --quiet openapi-python-client@0.29.1 generate --path api/http/openapi.json \
		--output-path $(CLIENTS)/python --fail-on-warning
	$(PYTHON) -m compileall -q $(CLIENTS)/python
	cd $(CLIENTS)/python && uvx --quiet --with attrs --with httpx --with python-dateutil python -c \
		'from slackwater_client.api.vehicles import list_vehicles, get_vehicle, refresh_vehicle'
	npx --yes openapi-typescript@7.13.0 api/http/openapi.json --output $(CLIENTS)/slackwater.ts
	echo 'import type { operations } from "./slackwater"; export type Listed = operations["listVehicles"];' \
		> $(CLIENTS)/use.ts
	npx --yes --package typescript@5.9.3 tsc --noEmit --strict $(CLIENTS)/use.ts
	uvx --quiet --with enode==0.2.6 pytest -c tests/sdk/pytest.ini tests/sdk

SWAGGER := api/server/src/admin/swagger

.PHONY: swagger-ui
swagger-ui: ## Fetch Swagger UI from npm for /docs; VERSION=5.35.0
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	npm pack --silent --pack-destination "$$folder" swagger-ui-dist@$(or $(VERSION),latest); \
	tar -xzf "$$folder"/swagger-ui-dist-*.tgz -C "$$folder"; \
	for file in swagger-ui-bundle.js swagger-ui.css; do \
		sed '/sourceMappingURL/d' "$$folder/package/$$file" | gzip -9n > $(SWAGGER)/$$file.gz; \
	done; \
	cp "$$folder/package/LICENSE" $(SWAGGER)/LICENSE

.PHONY: oracle
oracle: tools ## Compare plans with HiGHS on many more random cases; SCALE=20 ONLY=heat::agreement
	$(call step,plans against HiGHS)
	ORACLE_SCALE=$(or $(SCALE),10) cargo test $(WORKSPACE) --test oracle $(ONLY)

.PHONY: races
races: tools ## Race commands against each other; ROUNDS=1000 of each
	SLACKWATER_RACE_ROUNDS=$(or $(ROUNDS),1000) cargo test $(WORKSPACE) --test service races::

.PHONY: requirements
requirements: setup ## List requirements of the service that no test cites
	$(call step,requirements)
	@$(PYTHON) scripts/requirements.py

.PHONY: fuzz
fuzz: build ## Send generated requests to a sandbox; EXAMPLES=500 for a long run
	$(call step,generated requests)
	$(PYTHON) scripts/fuzz_api.py $(SERVER) --examples $(or $(EXAMPLES),20)

.PHONY: soak
soak: build ## Call the Python package with made-up arguments; CALLS=1000000
	$(call step,made-up arguments)
	SLACKWATER_EXAMPLES=$(or $(CALLS),1000000) SLACKWATER_LEAK_CALLS=100000 \
		$(PYTHON) -m pytest --numprocesses auto tests/python/test_hostile.py

# Guided by coverage. What ends a target is to be kept in `tests/fuzz/corpus`, on which `rust-test` runs it again.
FUZZ_TARGETS := charge storage switching saved_plan tariff_file market_reply texts
.PHONY: fuzz-engine
fuzz-engine: setup ## Fuzz planners and parsers (needs cargo-fuzz and nightly Rust); RUNS=10000000 of each
	@for target in $(FUZZ_TARGETS); do \
		mkdir -p $(TARGET)/fuzz-corpus/$$target; \
		cargo +nightly fuzz run --fuzz-dir tests/fuzz --sanitizer none $$target \
			$(abspath $(TARGET))/fuzz-corpus/$$target tests/fuzz/corpus/$$target \
			-- -runs=$(or $(RUNS),10000000) -max_len=20000 -timeout=10 -print_final_stats=1; \
	done

.PHONY: kills
kills: build ## Kill a service while sixteen clients write, and look what is left; ROUNDS=200
	$(call step,kills)
	$(PYTHON) scripts/kills.py $(SERVER) --rounds $(or $(ROUNDS),200) --restart-max 2

# The same with few kills and no limit of time: another program may have the machine.
.PHONY: kills-short
kills-short: build
	$(call step,kills under writers)
	$(PYTHON) scripts/kills.py $(SERVER) --rounds 8

.PHONY: crash
crash: build ## Fail disk and process of a service at chosen places (needs strace); STATES=5000 KILLS=200
	$(call step,failures of disk and process)
	$(PYTHON) scripts/crash.py $(SERVER) --states $(or $(STATES),5000) --kills $(or $(KILLS),200)

.PHONY: crash-short
crash-short: build
	$(call step,failures of disk and process)
	$(PYTHON) scripts/crash.py $(SERVER) --states 100 --kills 4 --torn 100

# Part of `test` with a few dozen seeds; see api/server/tests/simulation.
.PHONY: simulate
simulate: tools ## Simulate the service under faults from seeds, each the same every time; SEED=1 SEEDS=1000
	SEED='$(SEED)' SEEDS='$(or $(SEEDS),$(if $(SEED),1,1000))' cargo nextest run --locked --no-capture \
		-p slackwater-server --test simulation the_service_keeps_its_promises_whatever_fails

# A debug build is slower than what ships, and leaks as much.
.PHONY: load
load: build ## Ask a sandbox for an hour, then four times as much, and judge it; MINUTES=60 CONNECTIONS=64
	$(PYTHON) scripts/load.py $(SERVER) --minutes $(or $(MINUTES),60) --connections $(or $(CONNECTIONS),64)

# The copy of the tree shares what is compiled of other projects' crates.
.PHONY: planted
planted: package ## Plant the defects of tests/planted.toml, and run the test that must notice each; ONLY=engine
	CARGO_TARGET_DIR='$(abspath $(TARGET))' $(PYTHON) scripts/planted.py $(TARGET)/planted \
		$(if $(ONLY),--only $(ONLY))

# Decisions of the engine and of device control, against the unit tests of their crates; see .cargo/mutants.toml.
# FILES=path narrows it. Needs cargo-mutants, which the network has.
MUTATED := control/src/**/*.rs engine/src/prices/*.rs engine/src/statistics/*.rs engine/src/time/*.rs \
	api/service/src/queue/*.rs api/wire/src/**/*.rs

.PHONY: mutants
mutants: tools ## Change decisions one by one, and list changes that no unit test notices (needs cargo-mutants)
	@command -v cargo-mutants >/dev/null || { echo 'error: cargo install --locked cargo-mutants' >&2; exit 1; }
	@mkdir -p out
	cargo mutants --output out $(patsubst %,--file '%',$(or $(FILES),$(MUTATED)))

# Twice the optimised build, each in a folder and a target folder of its own: an hour.
.PHONY: reproducible
reproducible: tools ## Build twice in two folders, and compare to the byte; WHAT='sdist server wheel'
	$(PYTHON) scripts/reproducible.py $(or $(WHAT),sdist server wheel)

# A thousand homes from noon to noon, with prices that change, an outage and a limit; see scripts/night.py.
.PHONY: night
night: build ## Run a night in the sandbox and judge it; HOMES=1000 SEED=7
	@mkdir -p out
	$(PYTHON) scripts/night.py $(SERVER) --homes $(or $(HOMES),1000) --seed $(or $(SEED),7) --picture out/night.png

# A street of twenty homes, in half a minute.
.PHONY: night-short
night-short: build
	$(call step,a night in the sandbox)
	$(PYTHON) scripts/night.py $(SERVER) --homes 20

# The same with chargers that speak OCPP with production, of which the service knows nothing else.
.PHONY: night-ocpp
night-ocpp: night-program ## Run a night with charge points by OCPP in production, and judge it; HOMES=100 SEED=7
	@mkdir -p out
	$(PYTHON) scripts/night.py $(SERVER) --charge-points $(TARGET)/debug/examples/simulated_production \
		--homes $(or $(HOMES),100) --seed $(or $(SEED),7) --picture out/night-ocpp.png

.PHONY: night-program
night-program: build
	cargo build $(WORKSPACE) --example simulated_production

.PHONY: night-ocpp-short
night-ocpp-short: night-program
	$(call step,a night with charge points)
	$(PYTHON) scripts/night.py $(SERVER) --charge-points $(TARGET)/debug/examples/simulated_production \
		--homes 8 --kw-per-home 4

# Not part of `test`, in which `tree` compares licences and sources with the same file: a program of
# its own. Advisories come from the network, so they stay out; `cargo deny check` has all.
.PHONY: deny
deny: tools ## Check licences, sources and banned crates with cargo-deny
	@command -v cargo-deny >/dev/null || { echo 'error: cargo install --locked cargo-deny' >&2; exit 1; }
	cargo deny check bans licenses sources

.PHONY: cases
cases: package ## Run the cases of FILE=path.json through the Python package
	@test -n '$(FILE)' || { echo 'usage: make cases FILE=path.json' >&2; exit 2; }
	@$(PYTHON) tests/python/cases.py '$(FILE)'

# ------------------------------------------------- measuring and documenting

.PHONY: bench
bench: dist $(VENV)/.peers-installed ## Time the engine, then other libraries on the same problems
	cargo bench $(DIST) --bench '*'
	@mkdir -p out
	$(PYTHON) benches/peers/run.py --json out/peers.json
	$(PYTHON) benches/peers/statistics_run.py --rows 10000000 --json out/statistics-small.json
	$(PYTHON) benches/peers/report.py --peers out/peers.json \
		--statistics $(firstword $(wildcard out/statistics.json) out/statistics-small.json) \
		$(addprefix --areas ,$(wildcard out/areas.json)) \
		$(addprefix --service ,$(wildcard out/service.json))

# 140 million samples: some 10 GB of memory and some minutes. `bench` reports them if they are
# there, and else the 10 million that it sums up itself.
.PHONY: bench-stats
bench-stats: dist $(VENV)/.peers-installed ## Sum up a large table, then with polars and DuckDB
	$(PYTHON) benches/peers/statistics_run.py --json out/statistics.json

# A thousand to a million vehicles, and 200 feeders; some minutes. `bench` reports what this and `bench-api` left.
.PHONY: bench-area
bench-area: dist $(VENV)/.peers-installed ## Plan areas of up to a million vehicles, file to file
	cargo build $(DIST) --example area_own
	@mkdir -p out
	$(PYTHON) benches/peers/area_run.py $(DIST_FOLDER)/examples/area_own --json out/areas.json

# Ray on this machine; the page says what that means for a large cluster.
.PHONY: bench-cluster
bench-cluster: dist $(VENV)/.cluster-installed $(VENV)/.peers-installed ## Time rounds on Ray, and write benches/CLUSTER.md
	@mkdir -p out
	$(PYTHON) benches/peers/cluster_run.py --json out/cluster.json --page benches/CLUSTER.md

# Fails if one of its two runs takes more than a minute, which is what two idle cores may need.
.PHONY: simulate-month
simulate-month: dist ## Simulate a thousand homes for a month, planned every quarter of an hour; HOMES=1000
	$(PYTHON) scripts/simulate_month.py --homes $(or $(HOMES),1000)

# In one process with a bare handler: see what the framework itself costs.
.PHONY: bench-api
bench-api: dist ## Ask a service of 100,000 devices as fast as it answers
	cargo build $(DIST) --example load
	@mkdir -p out
	$(DIST_FOLDER)/examples/load out/service.json

.PHONY: evcc-speed
evcc-speed: dist ## Time answers of slackwater-evcc on one core; REQUESTS=100
	$(PYTHON) scripts/evcc_speed.py $(DIST_FOLDER)/slackwater-evcc --requests $(or $(REQUESTS),100)

.PHONY: console-speed
console-speed: dist ## Time the console and lists with 100,000 devices; HOMES=28000
	$(PYTHON) scripts/console_speed.py $(DIST_FOLDER)/slackwater-api --homes $(or $(HOMES),28000)

# The site links to the Rust reference beside it. Nothing is fetched from a network.
.PHONY: docs
docs: build rust-doc site ## Write the documentation site and the Rust reference into target/doc

.PHONY: clean
clean: ## Remove what was built; .venv stays
	rm -rf $(TARGET) dist out .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -f bindings/python/slackwater/_engine*.so $(VENV)/.package-installed
