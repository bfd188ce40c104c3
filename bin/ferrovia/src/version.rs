//! Name and version of this program.

use std::time::Duration;

use control::wall::Civil;

/// User who built it.
pub const BUILT_BY: &str = env!("BUILT_BY");
/// The machine that built it.
pub const BUILT_ON: &str = env!("BUILT_ON");

/// `ferrovia 0.1.0`.
pub fn short() -> String {
    format!("ferrovia {}", env!("CARGO_PKG_VERSION"))
}

/// The line of `show version`: `ferrovia v0.1.0-g1234abcd built by …`.
pub fn long() -> String {
    let commit = env!("COMMIT");
    format!(
        "ferrovia v{}{}{commit} built by {} on {} at {}",
        env!("CARGO_PKG_VERSION"),
        if commit.is_empty() { "" } else { "-g" },
        BUILT_BY,
        BUILT_ON,
        build_date()
    )
}

/// Date of the build.
pub fn build_date() -> String {
    let seconds = env!("BUILT_AT").parse().unwrap_or_default();
    Civil::from_unix(Duration::from_secs(seconds)).to_string()
}
