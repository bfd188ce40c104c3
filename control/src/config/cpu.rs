//! `cpu { main-core 0 corelist-workers 1,3-5 }`.

use super::stanza::{Error, Section};
use super::usage::list;
use super::values::CpuList;
use crate::cli::Args;

/// Threads and the CPUs they run on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    /// CPU of the main data-plane work; the usual one if `None`.
    pub main_core: Option<u32>,
    /// CPUs of the workers, one each.
    pub corelist_workers: Option<CpuList>,
    /// Number of workers when no CPUs are given for them.
    pub workers: Option<u32>,
    /// CPUs left free before the first worker's.
    pub skip_cores: u32,
    /// `other`, `batch`, `idle`, `fifo` or `rr`.
    pub scheduler_policy: Option<String>,
    /// Priority for `fifo` and `rr`.
    pub scheduler_priority: Option<u32>,
    /// CPU numbers count the CPUs this process may use, not the machine's.
    pub relative: bool,
}

impl Section for Cpu {
    fn word(&mut self, word: &str, args: &mut Args<'_>) -> Result<(), Error> {
        match word {
            "main-core" if args.keyword("auto") => self.main_core = None,
            "main-core" => self.main_core = Some(args.value(word)?),
            "corelist-workers" => self.corelist_workers = Some(corelist(args)?),
            "coremask-workers" => self.corelist_workers = Some(mask(args)?),
            "workers" => self.workers = Some(args.value(word)?),
            "skip-cores" => self.skip_cores = args.value(word)?,
            "scheduler-policy" => self.scheduler_policy = Some(args.value(word)?),
            "scheduler-priority" => self.scheduler_priority = Some(args.value(word)?),
            "relative" | "translate" => self.relative = true,
            "use-pthreads" => {}
            "thread-prefix" | "numa-heap-size" => drop(args.value::<String>(word)?),
            _ => return Err(Error::unknown(word)),
        }
        Ok(())
    }
}

/// CPUs by number; blanks may stand beside commas.
fn corelist(args: &mut Args<'_>) -> Result<CpuList, Error> {
    let start = *args;
    let list = list(args).and_then(|list| list.parse().ok());
    list.ok_or_else(|| start.error("invalid corelist-workers").into())
}

/// `0x1e` names CPUs 1 to 4.
fn mask(args: &mut Args<'_>) -> Result<CpuList, Error> {
    let start = *args;
    let digits = args.word().unwrap_or_default();
    let bits = u128::from_str_radix(digits.trim_start_matches("0x"), 16)
        .map_err(|_| start.error("invalid coremask-workers"))?;
    Ok(CpuList((0..u128::BITS).filter(|cpu| bits >> cpu & 1 == 1).collect()))
}
