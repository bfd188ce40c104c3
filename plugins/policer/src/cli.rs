//! Commands about policers.

use control::cli::Word;
use net::prelude::*;

use super::show::Shown;
use super::{Applied, Config, Direction};

/// A policer by its name or its number.
#[derive(Arguments, Debug, PartialEq)]
pub(super) struct Named {
    /// name
    #[values("policer")]
    name: Option<Word>,
    /// index
    #[values("policer-index")]
    index: Option<u32>,
}

impl Named {
    fn at(index: u32) -> Self {
        Self { name: None, index: Some(index) }
    }
    /// Number of the policer; `None` where none is named.
    fn found(&self, router: &Router) -> Result<Option<u32>, Error> {
        match (&self.name, self.index) {
            (Some(name), _) => {
                super::named(router, name).map_err(|_| name.unknown("policer")).map(Some)
            }
            (None, Some(index)) => Ok(super::at(router, index).map(|_| Some(index))?),
            (None, None) => Ok(None),
        }
    }
    pub(super) fn find(&self, router: &Router) -> Result<u32, Error> {
        self.found(router)?.ok_or_else(|| "expected name or index".into())
    }
    /// Does something with the policer that is named.
    fn with(
        &self,
        router: &mut Router,
        work: impl FnOnce(&mut Router, u32) -> Result<(), super::Error>,
    ) -> Result<(), Error> {
        let index = self.find(router)?;
        Ok(work(router, index)?)
    }
}

/// Add a policer.
#[derive(Command, Print, Debug, PartialEq)]
#[command("policer add")]
#[stage(Objects)]
#[undo("policer del name {name}")]
struct Add {
    /// name
    name: Word,
    /// policer index; default the lowest free one
    index: Option<u32>,
    #[flatten]
    config: Config,
}

/// Change the configuration of a policer.
#[derive(Command)]
#[command("configure policer")]
struct Configure {
    #[flatten]
    policer: Named,
    #[flatten]
    config: Config,
}

/// Delete a policer.
#[derive(Command)]
#[command("policer del")]
struct Delete {
    #[flatten]
    policer: Named,
}

/// Reset a policer: fill its buckets.
#[derive(Command)]
#[command("policer reset")]
struct Reset {
    #[flatten]
    policer: Named,
}

/// Bind a policer to a worker, or unbind it.
#[derive(Command, Print, Debug, PartialEq)]
#[command("policer bind")]
#[stage(Objects)]
#[undo("policer bind unbind {}")]
struct Bind {
    /// disable
    unbind: bool,
    #[flatten]
    policer: Named,
    /// worker index
    #[positional]
    worker: Option<usize>,
}

/// A policer and the packets of an interface.
#[derive(Arguments, Debug, PartialEq)]
struct Use {
    /// disable
    unapply: bool,
    #[flatten]
    policer: Named,
    /// interface
    #[positional]
    interface: InterfaceIndex,
}

/// Enable or disable policing of packets received on an interface, routed or bridged.
#[derive(Command, Print, Debug, PartialEq)]
#[command("policer input")]
#[stage(Attachments)]
#[undo("policer input unapply {}")]
struct Input {
    #[flatten]
    on: Use,
}

/// Enable or disable policing of packets transmitted on an interface, routed or bridged.
#[derive(Command, Print, Debug, PartialEq)]
#[command("policer output")]
#[stage(Attachments)]
#[undo("policer output unapply {}")]
struct Out {
    #[flatten]
    on: Use,
}

/// A policer and punted packets.
#[derive(Arguments, Debug, PartialEq)]
struct Punted {
    /// start policing
    add: bool,
    /// delete
    del: bool,
    /// policer index
    #[positional]
    policer_index: u32,
}

/// Enable or disable policing of punted packets.
#[derive(Command, Print, Debug, PartialEq)]
#[command("ip punt policer")]
#[stage(Attachments)]
struct Punt4 {
    #[flatten]
    packets: Punted,
}

/// Enable or disable policing of punted packets.
#[derive(Command, Print, Debug, PartialEq)]
#[command("ip6 punt policer")]
#[stage(Attachments)]
struct Punt6 {
    #[flatten]
    packets: Punted,
}

fn apply(router: &mut Router, on: &Use, direction: Direction) -> Result<(), Error> {
    on.policer.with(router, |router, index| {
        super::apply(router, on.interface, direction, index, !on.unapply)
    })
}

fn punt(router: &mut Router, packets: &Punted, version: IpVersion) -> Result<(), Error> {
    let policer = (!packets.del).then_some(packets.policer_index);
    Ok(super::apply_to_punted(router, version, policer)?)
}

/// The policers, and the packets they are for.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (number, policer) in super::all(router) {
        let (name, config) = (policer.name.as_str().into(), policer.config);
        lines.push(&Add { name, index: Some(number), config });
        // Without workers thread 0 is the only one.
        if let Some(worker) = policer.thread().and_then(|thread| thread.checked_sub(1)) {
            let policer = Named::at(number);
            lines.push(&Bind { unbind: false, policer, worker: Some(worker) });
        }
    }
    for (interface, Applied([input, output])) in router.settings::<Applied>() {
        let on = |index: u32| Use { unapply: false, policer: Named::at(index), interface };
        input.iter().for_each(|index| lines.push(&Input { on: on(*index) }));
        output.iter().for_each(|index| lines.push(&Out { on: on(*index) }));
    }
    let packets = |policer_index| Punted { add: true, del: false, policer_index };
    let [four, six] = super::punted(router).map(|policer| policer.map(packets));
    four.into_iter().for_each(|packets| lines.push(&Punt4 { packets }));
    six.into_iter().for_each(|packets| lines.push(&Punt6 { packets }));
}

/// Show policers.
#[derive(Command)]
#[command("show policer")]
struct Show {
    #[flatten]
    only: Named,
}

/// Show the number of policers.
#[derive(Command)]
#[command("show policer pools")]
struct ShowPools;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.values("policer", |router: &Router| {
        super::all(router).map(|(_, policer)| policer.name.clone()).collect()
    });
    cli.values("policer-index", |router: &Router| {
        super::all(router).map(|(index, _)| index.to_string()).collect()
    });
    cli.command(|router: &mut Router, add: Add| {
        Ok(super::add_at(router, &add.name, add.index, add.config).map(drop)?)
    });
    cli.command(|router: &mut Router, c: Configure| {
        c.policer.with(router, |router, index| super::update(router, index, c.config))
    });
    cli.command(|router: &mut Router, c: Delete| c.policer.with(router, super::remove));
    cli.command(|router: &mut Router, c: Reset| c.policer.with(router, super::reset));
    cli.command(|router: &mut Router, c: Bind| -> Result<(), Error> {
        let index = c.policer.find(router)?;
        if c.worker.is_none() && !c.unbind {
            return Err("missing worker".into());
        }
        Ok(super::bind(router, index, c.worker.filter(|_| !c.unbind))?)
    });
    cli.command(|router: &mut Router, c: Input| apply(router, &c.on, Direction::Input));
    cli.command(|router: &mut Router, c: Out| apply(router, &c.on, Direction::Output));
    cli.command(|router: &mut Router, c: Punt4| punt(router, &c.packets, IpVersion::V4));
    cli.command(|router: &mut Router, c: Punt6| punt(router, &c.packets, IpVersion::V6));
    cli.command(|router: &mut Router, show: Show| {
        let only = show.only.found(router)?;
        let all = super::all(router).filter(|(index, _)| only.is_none_or(|only| only == *index));
        let shown = all.map(|(index, policer)| Shown::of(router, index, policer));
        Ok(Output::list(shown))
    });
    cli.command(|router: &mut Router, _: ShowPools| {
        Ok(Output::of(Pools { policers: super::all(router).count() }))
    });
}

#[derive(Serialize)]
struct Pools {
    policers: usize,
}

impl fmt::Display for Pools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "pool sizes: configs={0} policers={0}", self.policers)
    }
}
