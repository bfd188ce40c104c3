//! Commands about algorithms and engines.
#![forbid(unsafe_code)]

use std::fmt;

use control::cli::{Cli, Command, Error, Output};
use net::Router;
use serde::Serialize;

use super::{CIPHERS, Dispatch, Engine};

/// Set the engine of algorithms.
#[derive(Command)]
#[command("set crypto handler")]
struct SetEngine {
    /// algorithms or all, then an engine; simple, chained, both and async are accepted: one engine
    /// computes an algorithm, whichever way packets come
    #[rest]
    words: String,
}

/// Show crypto engines.
#[derive(Command)]
#[command("show crypto engines")]
struct ShowEngines;

/// Show the engine of each algorithm.
#[derive(Command)]
#[command("show crypto handlers")]
struct ShowHandlers;

/// Show crypto algorithms.
#[derive(Command)]
#[command("show crypto algorithm")]
struct ShowAlgorithm {
    /// one item of the list
    #[positional]
    algorithm: Option<String>,
}

/// Show the dispatch mode of asynchronous operations.
#[derive(Command)]
#[command("show crypto async status")]
struct ShowAsync;

/// Set the dispatch mode of asynchronous operations; only recorded, as none are asynchronous here.
#[derive(Command)]
#[command("set crypto async dispatch mode")]
struct SetAsync {
    /// mode
    #[positional]
    #[values("polling|interrupt")]
    mode: Mode,
}

/// Whether work is found by interrupt.
struct Mode(bool);

impl std::str::FromStr for Mode {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "polling" => Ok(Self(false)),
            "interrupt" => Ok(Self(true)),
            _ => Err(()),
        }
    }
}

#[derive(Serialize)]
struct EngineRow {
    name: &'static str,
    priority: u32,
    description: &'static str,
}

#[derive(Serialize)]
struct Computed {
    algorithm: &'static str,
    engine: &'static str,
}

#[derive(Serialize)]
#[serde(transparent)]
struct Engines(Vec<EngineRow>);

#[derive(Serialize)]
#[serde(transparent)]
struct Table(Vec<Computed>);

#[derive(Serialize)]
struct Status {
    mode: &'static str,
    waiting: u32,
}

impl fmt::Display for Engines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<20}{:<8}Description", "Name", "Prio")?;
        let mut rows = self.0.iter();
        rows.try_for_each(|r| writeln!(f, "{:<20}{:<8}{}", r.name, r.priority, r.description))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<28}Engine", "Algo")?;
        self.0.iter().try_for_each(|r| writeln!(f, "{:<28}{}", r.algorithm, r.engine))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Crypto async dispatch mode: {}", self.mode)?;
        writeln!(f, "packets are encrypted where they come by: none waits")
    }
}

fn set_handler(words: &str) -> Result<Output, Error> {
    // Whichever way packets come, one engine computes an algorithm.
    const WAYS: [&str; 4] = ["simple", "chained", "both", "async"];
    let mut words: Vec<_> = words.split_whitespace().filter(|w| !WAYS.contains(w)).collect();
    let engine = words.pop().filter(|_| !words.is_empty());
    let engine = engine.ok_or_else(|| Error::new("expected algorithms and an engine"))?;
    let mut text = String::new();
    for algorithm in words {
        match super::choose(algorithm, engine) {
            // As in the original: packets go on by the engine there is.
            Err(why @ super::Error::NotThere(..)) => text += &format!("{why}\n"),
            other => other?,
        }
    }
    Ok(Output::text(text))
}

fn handlers(wanted: Option<&str>) -> Vec<Computed> {
    let cipher = CIPHERS.iter().find(|c| wanted.is_some_and(|name| c.is_named(name)));
    let wanted = cipher.map(|c| c.name).or(wanted);
    super::algorithms()
        .filter(|(name, _)| wanted.is_none_or(|wanted| wanted == *name))
        .map(|(algorithm, engine)| Computed { algorithm, engine: engine.name() })
        .collect()
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|_: &mut Router, c: SetEngine| set_handler(&c.words));
    cli.command(|_: &mut Router, _: ShowEngines| {
        let row = |(at, engine): (usize, Engine)| EngineRow {
            name: engine.name(),
            priority: 100 - 50 * at as u32,
            description: engine.about(),
        };
        Ok(Output::of(Engines(Engine::ALL.into_iter().enumerate().map(row).collect())))
    });
    cli.command(|_: &mut Router, _: ShowHandlers| Ok(Output::of(Table(handlers(None)))));
    cli.command(|_: &mut Router, c: ShowAlgorithm| {
        let found = handlers(c.algorithm.as_deref());
        match (found.is_empty(), c.algorithm) {
            (true, Some(name)) => Err(super::Error::NoAlgorithm(name).into()),
            _ => Ok(Output::of(Table(found))),
        }
    });
    cli.command(|router: &mut Router, set: SetAsync| {
        router.own_mut::<Dispatch>().is_interrupt = set.mode.0;
        Ok(())
    });
    cli.command(|router: &mut Router, _: ShowAsync| {
        let mode = if router.own::<Dispatch>().is_interrupt { "INTERRUPT" } else { "POLLING" };
        Ok(Output::of(Status { mode, waiting: 0 }))
    });
}
