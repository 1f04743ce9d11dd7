#!/bin/sh
# The cargo of the workspace, for maturin: it points PyO3 at a configuration of its own, and PyO3
# with all that uses it would be compiled again, here and at the next `cargo build`.
exec env -u PYO3_CONFIG_FILE -u PYO3_ENVIRONMENT_SIGNATURE -u PYTHON_SYS_EXECUTABLE cargo "$@"
