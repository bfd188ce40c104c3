//! Filters of traces and captures in the language of tcpdump, pcap-filter(7).

mod api;
mod cli;
mod libpcap;
pub mod program;

use graph::PacketContext;
use net::prelude::*;
use net::trace::{Compiler, Use};

pub use api::{BpfTraceFilterSet, BpfTraceFilterSetV2};
use libpcap::Libpcap;
use program::Program;

/// Filters of traces and captures.
pub const FEATURE: Feature = Feature {
    name: "bpf_trace_filter",
    about: "BPF Trace Filter Plugin",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["trace"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// Name of the filter function.
const NAME: &str = "bpf_trace_filter";

/// Reasons why a filter is not set.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// libpcap is not installed
    #[retval(UNSUPPORTED)]
    NoCompiler,
    /// `{0}': {1}
    #[retval(INVALID_VALUE)]
    Malformed(String, String),
    /// no filter is set
    #[retval(NO_SUCH_ENTRY)]
    NoFilter,
}

/// The filter that is set.
#[derive(Default)]
struct State {
    libpcap: Option<Libpcap>,
    filter: Option<Filter>,
}

/// A filter, as it was written and compiled.
#[derive(Clone)]
struct Filter {
    text: String,
    optimizes: bool,
    program: Program,
}

struct Chooser(Program);

impl graph::Filter for Chooser {
    fn chooses(&self, _: u32, bytes: &[u8], _: PacketContext<'_>) -> bool {
        self.0.accepts(bytes)
    }
}

/// Compiles a filter and sets it, for traces and captures that use this function.
///
/// # Errors
/// [`Error`]; the filter before stays then.
pub fn set(router: &mut Router, text: &str, optimizes: bool) -> Result<(), Error> {
    let program = compile(router, text, libpcap::ETHERNET, optimizes)?;
    let filter = Filter { text: text.to_owned(), optimizes, program };
    router.own_mut::<State>().filter = Some(filter);
    provide(router);
    Ok(())
}

/// Compiles a filter for packets that begin with a header of this link type.
fn compile(router: &mut Router, text: &str, link: u16, optimizes: bool) -> Result<Program, Error> {
    let state = router.own_mut::<State>();
    let libpcap = match state.libpcap {
        Some(libpcap) => libpcap,
        None => *state.libpcap.insert(Libpcap::load().ok_or(Error::NoCompiler)?),
    };
    let malformed = |why: String| Error::Malformed(text.to_owned(), why);
    let instructions = libpcap.compile(text, link, optimizes).map_err(malformed)?;
    let unsound = || malformed("the compiled program is not sound".to_owned());
    Program::new(instructions).ok_or_else(unsound)
}

/// As captures have filters compiled.
fn chooser(router: &mut Router, text: &str, link: u16) -> Result<Arc<dyn graph::Filter>, String> {
    match compile(router, text, link, true) {
        Ok(program) => Ok(Arc::new(Chooser(program))),
        Err(Error::Malformed(_, why)) => Err(why),
        Err(e) => Err(e.to_string()),
    }
}

/// Takes the filter away.
///
/// # Errors
/// [`Error::NoFilter`].
pub fn remove(router: &mut Router) -> Result<(), Error> {
    router.own_mut::<State>().filter.take().ok_or(Error::NoFilter)?;
    provide(router);
    Ok(())
}

/// The compiled filter, if one is set.
pub fn program(router: &Router) -> Option<&Program> {
    router.own::<State>().filter.as_ref().map(|filter| &filter.program)
}

fn provide(router: &mut Router) {
    let filter = router.own::<State>().filter.as_ref();
    let chooser =
        filter.map(|f| -> Arc<dyn graph::Filter> { Arc::new(Chooser(f.program.clone())) });
    router.provide_filter(NAME, Use::Traces, chooser.clone());
    router.provide_filter(NAME, Use::Captures, chooser);
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    parts.router.insert(State::default());
    parts.router.insert(Compiler(chooser));
    provide(parts.router);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
