//! `set workers`: another number of data-plane threads while packets flow.

use control::cli::{Cli, Command, Error, Print};
use control::config::{Cpu, CpuList};
use control::configuration::Lines;
use graph::Plan;
use infra::cpu;
use net::{Configuration, Router};

use crate::layout::Layout;

/// The configuration that threads were placed by.
pub struct Placement {
    /// `cpu { … }` of the configuration.
    pub config: Cpu,
    /// CPUs this process may use.
    pub allowed: Vec<usize>,
}

/// Change the number of workers while forwarding.
#[derive(Command, Print, Clone, Debug, PartialEq)]
#[command("set workers")]
#[undo("=set workers default")]
#[stage(Objects)]
struct SetWorkers {
    /// number of workers
    #[positional]
    workers: Option<u32>,
    /// one worker on each of these CPUs
    corelist: Option<CpuList>,
    /// as in the startup configuration
    default: bool,
}

/// Last choice of workers by command.
struct Told(SetWorkers);

/// Registers the command.
pub fn register(router: &mut Router, cli: &mut Cli<Router>) {
    router.configured.push(("workers", Configuration::Commands(configuration)));
    cli.command(|router, wanted: SetWorkers| {
        let Some(placed) = router.state::<Placement>() else { return Ok(()) };
        let given = [wanted.workers.is_some(), wanted.corelist.is_some(), wanted.default];
        if given.into_iter().filter(|is| *is).count() != 1 {
            return Err(Error::new("expected the number of workers, corelist or default"));
        }
        let (workers, corelist_workers) = (wanted.workers, wanted.corelist.clone());
        let config = match wanted.default {
            true => placed.config.clone(),
            false => Cpu { workers, corelist_workers, ..placed.config.clone() },
        };
        let layout =
            Layout::new(&config, &placed.allowed).map_err(|e| Error::new(e.text("corelist")))?;
        apply(router, &layout)?;
        router.insert(Told(wanted));
        Ok(())
    });
}

fn configuration(router: &Router, lines: &mut Lines<'_>) {
    if let Some(Told(told)) = router.state::<Told>().filter(|told| !told.0.default) {
        lines.push(told);
    }
}

fn apply(router: &mut Router, layout: &Layout) -> Result<(), Error> {
    let plan = |cpu: &usize| Plan { cpu: Some(*cpu), shares: layout.shared };
    let (first, plans) = match layout.workers.as_slice() {
        [] => (0, vec![plan(&layout.main)]),
        workers => (1, workers.iter().map(plan).collect()),
    };
    if first + plans.len() > router.engine.thread_rows() {
        let most = router.engine.thread_rows() - 1;
        return Err(Error::new(format!("at most {most} workers")));
    }
    router.set_threads(first, &plans).map_err(|e| Error::new(e.to_string()))?;
    // Control may stay where it was if the kernel says so.
    let _ = cpu::restrict_to(&layout.control);
    Ok(())
}
