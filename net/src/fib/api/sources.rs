//! Sources of routes: listed, and made by clients.

use control::api::{Api, Message, Record, Retval, Text};
use control::cli::is_word;

use crate::router::Router;

/// Source of routes.
#[derive(Clone, Debug, Default, Record)]
#[file("")]
pub(super) struct FibSource {
    /// priority; the lowest wins
    pub priority: u8,
    /// number
    pub id: u8,
    /// name
    pub name: Text<64>,
}

/// Add a route source.
#[derive(Message)]
#[reply(FibSourceAddReply)]
pub(super) struct FibSourceAdd {
    pub src: FibSource,
}

/// Reply: ID of the source.
#[derive(Message)]
pub(super) struct FibSourceAddReply {
    /// index
    pub id: u8,
}

/// List route sources.
#[derive(Message)]
#[details(FibSourceDetails)]
pub(super) struct FibSourceDump {}

/// A route source.
#[derive(Message)]
pub(super) struct FibSourceDetails {
    pub src: FibSource,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("fib", "1.0.0")
        .call(|router: &mut Router, m: FibSourceAdd| {
            let name = &*m.src.name;
            if !is_word(name) {
                return Err(Retval::INVALID_VALUE);
            }
            let new = router.fib.sources.add(&m.src.name, m.src.priority);
            Ok(FibSourceAddReply { id: new.ok_or(Retval::LIMIT_EXCEEDED)?.id() })
        })
        .dump(|router: &mut Router, _: FibSourceDump| {
            let source = |(s, name): (crate::fib::Source, &str)| FibSourceDetails {
                src: FibSource { priority: s.priority(), id: s.id(), name: name.into() },
            };
            router.fib.sources.iter().map(source).collect()
        });
}
