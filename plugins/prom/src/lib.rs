//! Statistics for Prometheus at `/stats.prom` of HTTP servers on the host stack.
#![forbid(unsafe_code)]

mod cli;
mod scrape;

use http_core::set_handler;

use net::prelude::*;

pub use scrape::{Pattern, Scraper};

/// Path of the statistics.
pub const PATH: &str = "/stats.prom";
/// Limit of patterns.
const MOST_PATTERNS: usize = 256;
/// Longest scrape interval in seconds.
const LONGEST: f64 = 86_400.0;

/// Statistics for Prometheus.
pub const FEATURE: Feature = Feature {
    name: "prom",
    about: "Prometheus Stats Exporter",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &[],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// Settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Seconds for which the text of a scrape is served again.
    pub interval: f64,
    /// Accepted for compatibility: zeros are always left out.
    pub used_only: bool,
    /// Whether all statistics are served, regardless of patterns.
    pub all: bool,
    /// First word of all names.
    pub prefix: String,
    /// Patterns of the paths to serve; all if empty.
    pub patterns: Vec<Pattern>,
}

impl Default for Settings {
    fn default() -> Self {
        let prefix = "ferrovia".to_owned();
        Self { interval: 1.0, used_only: false, all: false, prefix, patterns: Vec::new() }
    }
}

/// State of the control thread.
#[derive(Default)]
struct Prom {
    settings: Settings,
    /// The thread that reads the statistics segment, while enabled.
    scraper: Option<Scraper>,
}

/// Reasons for refusing a setting.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// min-scrape-interval must be 0 to 86400 seconds
    #[retval(INVALID_VALUE)]
    BadInterval,
    /// the prefix must begin with a letter, followed by letters, digits and `_'
    #[retval(INVALID_VALUE)]
    BadPrefix,
    /// at most {MOST_PATTERNS} patterns
    #[retval(LIMIT_EXCEEDED)]
    TooManyPatterns,
    /// cannot read the statistics: {0}
    #[retval(SYSCALL_ERROR_1)]
    Unreadable(String),
}

/// The settings.
pub fn settings(router: &Router) -> &Settings {
    &router.own::<Prom>().settings
}

/// Whether it is enabled.
pub fn is_enabled(router: &Router) -> bool {
    router.own::<Prom>().scraper.is_some()
}

/// Changes the settings.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set(router: &mut Router, new: Settings) -> Result<(), Error> {
    if !(0.0..=LONGEST).contains(&new.interval) {
        return Err(Error::BadInterval);
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !new.prefix.starts_with(|c: char| c.is_ascii_alphabetic())
        || !new.prefix.chars().all(is_word)
    {
        return Err(Error::BadPrefix);
    }
    if new.patterns.len() > MOST_PATTERNS {
        return Err(Error::TooManyPatterns);
    }
    let prom = router.own_mut::<Prom>();
    if let Some(scraper) = &prom.scraper {
        scraper.set(new.clone());
    }
    prom.settings = new;
    Ok(())
}

/// Enables the statistics for Prometheus.
///
/// # Errors
/// [`Error::Unreadable`].
pub fn enable(router: &mut Router) -> Result<(), Error> {
    if is_enabled(router) {
        return Ok(());
    }
    let unreadable = |why: std::io::Error| Error::Unreadable(control::cli::io_text(&why));
    let segment = router.stats.readable().map_err(unreadable)?;
    let scraper = Scraper::start(segment, router.published.clone(), settings(router).clone());
    let scraper = scraper.map_err(unreadable)?;
    set_handler(router, PATH, Some(scraper.handler()));
    router.own_mut::<Prom>().scraper = Some(scraper);
    Ok(())
}

/// Disables the statistics for Prometheus.
pub fn disable(router: &mut Router) {
    set_handler(router, PATH, None);
    router.own_mut::<Prom>().scraper = None;
}

fn register(parts: &mut Parts<'_>) -> Result<(), Refused> {
    parts.router.insert(Prom::default());
    cli::register(&mut parts.cli);
    Ok(())
}
