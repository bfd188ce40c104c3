//! `show igmp config`, `show igmp ssm-ranges`, `show igmp timers`.

use net::prelude::*;

use super::tasks::{self, SECOND, Task};
use super::{Igmp, Mode, Range};

/// Show IGMP interfaces and groups.
#[derive(Command)]
#[command("show igmp config")]
struct ShowConfig;

/// Show group prefixes.
#[derive(Command)]
#[command("show igmp ssm-ranges")]
struct ShowRanges;

/// Show IGMP timers.
#[derive(Command)]
#[command("show igmp timers")]
struct ShowTimers;

#[derive(Serialize)]
struct Config(Vec<Port>);

#[derive(Serialize)]
struct Port {
    interface: String,
    mode: &'static str,
    groups: Vec<Group>,
}

#[derive(Serialize)]
struct Group {
    group: Ipv4Addr,
    filter: &'static str,
    sources: Vec<Member>,
}

#[derive(Serialize)]
struct Member {
    source: Ipv4Addr,
    /// Seconds for which it still is wanted.
    left: Option<f64>,
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for port in &self.0 {
            writeln!(f, "interface: {} mode: {}", port.interface, port.mode)?;
            for Group { group, filter, sources } in &port.groups {
                writeln!(f, "  group: {group} {filter}")?;
                for Member { source, left } in sources {
                    let left = left.map_or_else(String::new, |left| format!(" for {left:.1} s"));
                    writeln!(f, "    source: {source}{left}")?;
                }
            }
        }
        Ok(())
    }
}

fn config(router: &Router) -> Config {
    let (igmp, now) = (router.own::<Igmp>(), tasks::now(router));
    let ports = igmp.ports.iter().map(|(interface, on)| {
        let wanted = on.wanted.iter().map(|(group, wanted)| {
            let member = |source: &Ipv4Addr| Member { source: *source, left: None };
            let filter = if wanted.is_exclude { "exclude" } else { "include" };
            Group { group: *group, filter, sources: wanted.sources.iter().map(member).collect() }
        });
        let heard = on.heard.iter().map(|(group, sources)| {
            let member = |(source, until): (&Ipv4Addr, &u64)| Member {
                source: *source,
                left: Some(until.saturating_sub(now) as f64 / SECOND as f64),
            };
            let sources = sources.iter().map(member).collect();
            Group { group: *group, filter: "include", sources }
        });
        Port {
            interface: router.interfaces.name(interface.0).to_owned(),
            mode: if on.mode == Mode::Host { "host" } else { "router" },
            groups: wanted.chain(heard).collect(),
        }
    });
    Config(ports.collect())
}

#[derive(Serialize)]
struct Ranges(Vec<(String, &'static str)>);

impl fmt::Display for Ranges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(prefix, meaning)| writeln!(f, "{prefix} => {meaning}"))
    }
}

#[derive(Serialize)]
struct Times {
    query: u32,
    source: u32,
    leave: u32,
    due: Vec<Due>,
}

#[derive(Serialize)]
struct Due {
    /// Seconds from now.
    after: f64,
    what: String,
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { query, source, leave, due } = self;
        writeln!(f, "query: {query} s, source: {source} s, leave: {leave} s")?;
        due.iter().try_for_each(|due| writeln!(f, "{:10.1} s  {}", due.after, due.what))
    }
}

fn times(router: &Router) -> Times {
    let (igmp, now) = (router.own::<Igmp>(), tasks::now(router));
    let name = |interface: net::InterfaceIndex| router.interfaces.name(interface.0);
    let due = igmp.tasks.iter().map(|(at, task)| Due {
        after: at.saturating_sub(now) as f64 / SECOND as f64,
        what: match *task {
            Task::Query(on) => format!("general query on {}", name(on)),
            Task::Answer(on, None) => format!("report on {}", name(on)),
            Task::Answer(on, Some(group)) => format!("report of {group} on {}", name(on)),
            Task::Repeat(on, group) => format!("report of {group} on {} once more", name(on)),
            Task::Expire(on, group, source) => {
                format!("end of source {source} of {group} on {}", name(on))
            }
        },
    });
    let due = due.collect();
    let super::Timers { query, source, leave } = igmp.timers;
    Times { query, source, leave, due }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, _: ShowConfig| Ok(Output::of(config(router))));
    cli.command(|router: &mut Router, _: ShowRanges| {
        let row = |(prefix, range): (&wire::prefix::Ip4Prefix, &Range)| {
            (prefix.to_string(), if *range == Range::Any { "asm" } else { "ssm" })
        };
        Ok(Output::of(Ranges(router.own::<Igmp>().ranges.iter().map(row).collect())))
    });
    cli.command(|router: &mut Router, _: ShowTimers| Ok(Output::of(times(router))));
}
