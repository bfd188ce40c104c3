//! Measuring what Linux counts for the router's threads.
#![forbid(unsafe_code)]

mod cli;
mod source;

use net::prelude::*;

pub use source::{BUNDLES, Bundle};

/// Measuring threads.
pub const FEATURE: Feature = Feature {
    name: "perfmon",
    about: "Performance Monitor",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &[],
    register,
    configuration: Configuration::None("threads are measured for a while"),
};

/// Reasons why nothing is measured.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no bundle `{0}'
    #[retval(NO_SUCH_ENTRY)]
    NoBundle(String),
    /// `{0}' has no per-node counters
    #[retval(UNSUPPORTED)]
    NotByNode(String),
    /// `{0}' is being measured: `perfmon stop' or `perfmon reset' first
    #[retval(INSTANCE_IN_USE)]
    IsMeasured(&'static str),
    /// no measurement is active
    #[retval(NO_SUCH_ENTRY)]
    Nothing,
}

/// A measurement.
struct Measurement {
    bundle: &'static Bundle,
    /// Router's time when it began, and when it ended.
    began: f64,
    ended: Option<f64>,
    /// Values by thread when it began.
    before: BTreeMap<u32, Vec<u64>>,
    /// Counts until it ended.
    counted: Vec<Counted>,
}

#[derive(Default)]
struct State(Option<Measurement>);

/// Counts of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// Name.
    pub thread: String,
    /// By column of the bundle.
    pub values: Vec<u64>,
}

/// Starts to measure a bundle.
///
/// # Errors
/// [`Error`]; what is measured goes on then.
pub fn start(router: &mut Router, bundle: &str, by_node: bool) -> Result<(), Error> {
    let bundle = Bundle::named(bundle).ok_or_else(|| Error::NoBundle(bundle.to_owned()))?;
    if by_node {
        return Err(Error::NotByNode(bundle.name.to_owned()));
    }
    if let Some(running) = active(router) {
        return Err(Error::IsMeasured(running.name));
    }
    let read = |(_, thread): (_, u32)| Some((thread, bundle.read(thread)?));
    let before = threads(router).into_iter().filter_map(read).collect();
    let began = router.engine.clock().now();
    let measurement = Measurement { bundle, began, ended: None, before, counted: Vec::new() };
    router.own_mut::<State>().0 = Some(measurement);
    Ok(())
}

/// Ends the measurement; its numbers stay.
///
/// # Errors
/// [`Error::Nothing`].
pub fn stop(router: &mut Router) -> Result<(), Error> {
    active(router).ok_or(Error::Nothing)?;
    let (now, counted) = (router.engine.clock().now(), counted(router));
    if let Some(measurement) = &mut router.own_mut::<State>().0 {
        (measurement.ended, measurement.counted) = (Some(now), counted);
    }
    Ok(())
}

/// Ends the measurement and forgets its numbers.
pub fn reset(router: &mut Router) {
    router.own_mut::<State>().0 = None;
}

/// The bundle that is being measured.
pub fn active(router: &Router) -> Option<&'static Bundle> {
    let measurement = router.own::<State>().0.as_ref()?;
    measurement.ended.is_none().then_some(measurement.bundle)
}

/// Counts so far, or until the measurement ended.
pub fn counted(router: &Router) -> Vec<Counted> {
    let Some(measurement) = &router.own::<State>().0 else { return Vec::new() };
    if measurement.ended.is_some() {
        return measurement.counted.clone();
    }
    let row = |(thread, id): (String, u32)| {
        let mut values = measurement.bundle.read(id)?;
        // A thread that has started since began at zero.
        let before = measurement.before.get(&id).into_iter().flatten();
        for (now, before) in values.iter_mut().zip(before) {
            *now = now.saturating_sub(*before);
        }
        Some(Counted { thread, values })
    };
    threads(router).into_iter().filter_map(row).collect()
}

/// Names and numbers of control and the data-plane threads.
fn threads(router: &Router) -> Vec<(String, u32)> {
    let infos = router.engine.thread_infos();
    let mut threads = Vec::new();
    if infos.first().is_none_or(|first| first.id > 0) {
        threads.push(("vpp_main".to_owned(), std::process::id()));
    }
    threads.extend(infos.into_iter().map(|info| (info.name, info.lwp)));
    threads
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    parts.router.insert(State::default());
    cli::register(&mut parts.cli);
    Ok(())
}
