//! Entry point: the allocator and the exit code. Everything else begins in `lib.rs`.

use std::process::ExitCode;

/// Frames, extents and index entries come and go on every core; the system's allocator keeps more of
/// them in fragments.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tidemill_ops::run()
}
