//! `set workers`: another number of data-plane threads while packets flow.

use control::cli::{Args, Cli, Command, Error};
use control::config::{Cpu, CpuList};
use graph::Plan;
use infra::cpu;
use net::Router;

use crate::layout::Layout;

/// What threads were placed by.
pub struct Placement {
    /// `cpu { … }` of the configuration.
    pub config: Cpu,
    /// CPUs this process may use.
    pub allowed: Vec<usize>,
}

/// `set workers {<n> | corelist <cpus>}`.
enum SetWorkers {
    Count(u32),
    On(CpuList),
}

impl Command for SetWorkers {
    const PATHS: &'static [&'static str] = &["set workers"];
    const ABOUT: &'static str = "Change the number of worker threads while packets flow";
    const USAGE: &'static str = "{<number> | corelist <cpu>[,<cpu>|-<cpu>]...}";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        if args.keyword("corelist") {
            args.value("list of CPUs").map(Self::On)
        } else {
            args.value("number of workers").map(Self::Count)
        }
    }
}

/// Registers the command.
pub fn register(cli: &mut Cli<Router>) {
    cli.command(|router, wanted: SetWorkers| {
        let Some(placed) = router.state::<Placement>() else { return Ok(()) };
        let (count, list) = match wanted {
            SetWorkers::Count(count) => (Some(count), None),
            SetWorkers::On(list) => (None, Some(list)),
        };
        let config = Cpu { workers: count, corelist_workers: list, ..placed.config.clone() };
        let layout =
            Layout::new(&config, &placed.allowed).map_err(|e| Error::new(e.text("corelist")))?;
        apply(router, &layout)
    });
}

fn apply(router: &mut Router, layout: &Layout) -> Result<(), Error> {
    let plan = |cpu: &usize| Plan { cpu: Some(*cpu), shares: layout.shared };
    let (first, plans) = match layout.workers.as_slice() {
        [] => (0, vec![plan(&layout.main)]),
        workers => (1, workers.iter().map(plan).collect()),
    };
    if first + plans.len() > router.engine.thread_rows() {
        let most = router.engine.thread_rows() - 1;
        return Err(Error::new(format!("there may be {most} workers at most")));
    }
    router.set_threads(first, &plans).map_err(|e| Error::new(e.to_string()))?;
    // Control may stay where it was if the kernel says so.
    let _ = cpu::restrict_to(&layout.control);
    Ok(())
}
