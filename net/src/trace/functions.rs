//! Filter functions: what chooses the packets of traces and captures that want a filter.
//!
//! Features provide them by name, for traces, captures or both. One of each is selected; the usual
//! one, `vnet_is_packet_traced`, is that of the classifier.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use control::cli::{Cli, Command, Output, Print};
use control::configuration::Lines;
use control::feature::{Owner, Refusal};
use serde::Serialize;

use crate::router::Router;

/// The filter function that is selected where nothing else is said: tables of the classifier.
pub const USUAL: &str = "vnet_is_packet_traced";

/// The purpose for which packets are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Traces.
    Traces,
    /// Captures.
    Captures,
}

type Filter = Arc<dyn graph::Filter>;

/// Compiler of expressions in the language of tcpdump, for packets that begin with a header of this
/// link type. A feature that has one puts it in as its state. The error is a text.
pub struct Compiler(pub fn(&mut Router, &str, link: u16) -> Result<Filter, String>);

/// The filter functions there are, by name and [`Use`], and those that are selected.
pub(super) struct Functions {
    provided: BTreeMap<&'static str, (Owner, [Option<Filter>; 2])>,
    selected: [&'static str; 2],
}

impl Default for Functions {
    fn default() -> Self {
        Self { provided: BTreeMap::from([(USUAL, Default::default())]), selected: [USUAL; 2] }
    }
}

/// Reasons why a filter function is not selected.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no filter function `{0}'
    #[retval(NO_SUCH_ENTRY)]
    Unknown(String),
}

impl Router {
    /// Provides a filter function, or removes its filter: it then selects nothing.
    /// Features that do so require `trace`.
    pub fn provide_filter(&mut self, name: &'static str, of: Use, filter: Option<Filter>) {
        let functions = self.own_mut::<Functions>();
        let new = (Owner::current(), Default::default());
        functions.provided.entry(name).or_insert(new).1[of as usize] = filter;
        self.apply_filter(of);
    }

    /// Selects a filter function.
    ///
    /// # Errors
    /// [`Error`]; the one before stays selected then.
    pub fn select_filter(&mut self, name: &str, of: Use) -> Result<(), Error> {
        let unknown = || Error::Unknown(name.to_owned());
        let functions = self.state_mut::<Functions>().ok_or_else(unknown)?;
        let (name, _) = functions.provided.get_key_value(name).ok_or_else(unknown)?;
        functions.selected[of as usize] = name;
        self.apply_filter(of);
        Ok(())
    }

    /// Filter of captures that want one, if there is any.
    pub fn capture_filter(&self) -> Option<Filter> {
        self.state::<Functions>()?.filter(Use::Captures)
    }

    /// The filter functions, and whether they are selected.
    pub(super) fn filter_functions(&self, of: Use) -> Vec<Function> {
        let functions = self.own::<Functions>();
        let function = |name: &&'static str| Function {
            name,
            selected: *name == functions.selected[of as usize],
        };
        functions.provided.keys().map(function).collect()
    }

    /// Makes later traces use the selection; captures keep the one they began with.
    fn apply_filter(&mut self, of: Use) {
        if of == Use::Traces {
            let filter = self.own::<Functions>().filter(of);
            self.engine.set_trace_filter(filter);
        }
    }
}

/// Forgets functions whose features leave; where one is selected, the usual one is from now on.
pub(super) fn forget(router: &mut Router) {
    let functions = router.own_mut::<Functions>();
    functions.provided.retain(|_, (owner, _)| owner.is_there());
    for name in &mut functions.selected {
        *name = if functions.provided.contains_key(name) { name } else { USUAL };
    }
    router.apply_filter(Use::Traces);
}

impl Functions {
    fn filter(&self, of: Use) -> Option<Filter> {
        self.provided[self.selected[of as usize]].1[of as usize].clone()
    }
}

/// Select the filter function for packet traces.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set trace filter function")]
#[undo("=set trace filter function vnet_is_packet_traced")]
#[stage(Settings)]
struct SetTraces {
    /// function name
    #[positional]
    #[values("filter function")]
    name: String,
}

/// Select the filter function for captures.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set pcap filter function")]
#[undo("=set pcap filter function vnet_is_packet_traced")]
#[stage(Settings)]
struct SetCaptures {
    /// function name
    #[positional]
    #[values("filter function")]
    name: String,
}

/// Show the filter functions for packet traces.
#[derive(Command)]
#[command("show trace filter function")]
struct ShowTraces;

/// Show the filter functions for captures.
#[derive(Command)]
#[command("show pcap filter function")]
struct ShowCaptures;

/// A filter function.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Function {
    pub name: &'static str,
    pub selected: bool,
}

fn write_list(rows: &[Function], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for Function { name, selected } in rows {
        let mark = if *selected { "(*) " } else { "" };
        writeln!(f, "{mark}name:{name}")?;
    }
    Ok(())
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let [traces, captures] = router.own::<Functions>().selected;
    if traces != USUAL {
        lines.push(&SetTraces { name: traces.to_owned() });
    }
    if captures != USUAL {
        lines.push(&SetCaptures { name: captures.to_owned() });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|r: &mut Router, c: SetTraces| Ok(r.select_filter(&c.name, Use::Traces)?));
    cli.command(|r: &mut Router, c: SetCaptures| Ok(r.select_filter(&c.name, Use::Captures)?));
    let show = |router: &Router, of| Ok(Output::rows(router.filter_functions(of), write_list));
    cli.command(move |router: &mut Router, _: ShowTraces| show(router, Use::Traces));
    cli.command(move |router: &mut Router, _: ShowCaptures| show(router, Use::Captures));
    cli.values("filter function", |router: &Router| {
        let functions = router.filter_functions(Use::Traces);
        functions.iter().map(|function| function.name.to_owned()).collect()
    });
}
