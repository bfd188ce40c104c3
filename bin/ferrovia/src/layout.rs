//! The layout of threads on CPUs.
//!
//! Without workers one data-plane thread does everything; it has the main core for itself and
//! control floats over the other CPUs. With workers each has a CPU of its own and control the main
//! core.

use std::{fmt, io};

use control::config::Cpu;
use infra::cpu;

/// CPUs by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Of the only data-plane thread, when there are no workers.
    pub main: usize,
    /// Of the workers, one each.
    pub workers: Vec<usize>,
    /// Processors for control.
    pub control: Vec<usize>,
    /// Whether control has no CPU that the data plane leaves alone.
    pub shared: bool,
}

/// Reasons why the configuration's CPUs cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Not a CPU of this process: word, CPU, CPUs there are.
    NotAllowed(&'static str, u32, Vec<usize>),
    /// A CPU for two things.
    Twice(usize),
    /// More workers than CPUs are left for them: workers, CPUs, a list that leaves none to control.
    TooFew(usize, usize, Option<String>),
}

impl Error {
    /// The text, when a list of CPUs follows `word`.
    pub fn text(&self, word: &str) -> String {
        match self {
            Self::TooFew(_, _, Some(list)) => {
                format!("{self}; with `{word} {list}' control shares their CPUs")
            }
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAllowed(word, cpu, allowed) => {
                write!(f, "cpu: {word}: CPU {cpu} is not available to this process ({allowed:?})")
            }
            Self::Twice(cpu) => write!(f, "cpu: CPU {cpu} cannot be both main-core and a worker's"),
            Self::TooFew(workers, cpus, _) => {
                write!(f, "cpu: {workers} workers need a CPU each, only {cpus} are left")
            }
        }
    }
}

/// More CPUs than a machine has.
const MOST_CPUS: usize = 1024;

/// The CPUs of this process, in ascending order: those it was given, and those that the
/// configuration names by number and the kernel lets it have. A CPU that stands in the
/// configuration counts more than what a parent left over (taskset).
///
/// # Errors
/// The kernel's.
pub fn of_this_process(config: &Cpu) -> io::Result<Vec<usize>> {
    let mut cpus = cpu::allowed()?;
    let workers = config.corelist_workers.iter().flat_map(|list| &list.0);
    let named = config.main_core.iter().chain(workers).map(|n| *n as usize);
    let mut more: Vec<_> = named.filter(|n| !cpus.contains(n)).collect();
    if config.relative || more.is_empty() {
        return Ok(cpus);
    }
    // Of all that are asked for the kernel gives those that there are.
    cpu::restrict_to(&(0..MOST_CPUS).collect::<Vec<_>>())?;
    let possible = cpu::allowed();
    cpu::restrict_to(&cpus)?;
    let possible = possible?;
    more.retain(|n| possible.contains(n));
    cpus.append(&mut more);
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

impl Layout {
    /// Places the threads that `cpu { … }` asks for on the CPUs this process may use (not empty).
    ///
    /// # Errors
    /// Missing CPUs, or too few.
    pub fn new(cpu: &Cpu, allowed: &[usize]) -> Result<Self, Error> {
        let place = |word, number: u32| {
            let at = number as usize;
            let place = if cpu.relative { allowed.get(at).copied() } else { Some(at) };
            let place = place.filter(|p| allowed.contains(p));
            place.ok_or_else(|| Error::NotAllowed(word, number, allowed.to_vec()))
        };
        let main = cpu.main_core.map(|n| place("main-core", n)).transpose()?;
        let workers = match &cpu.corelist_workers {
            Some(list) => list
                .0
                .iter()
                .map(|n| place("corelist-workers", *n))
                .collect::<Result<Vec<_>, _>>()?,
            None => next_free(cpu, main, allowed)?,
        };
        if let Some(main) = main.filter(|m| workers.contains(m)) {
            return Err(Error::Twice(main));
        }
        Ok(Self::with(main, workers, allowed))
    }

    fn with(main: Option<usize>, workers: Vec<usize>, allowed: &[usize]) -> Self {
        // CPU 0 has most of the system's interrupts: control may have it.
        let free = |c: &&usize| !workers.contains(c);
        let first = allowed.iter().filter(free).find(|c| **c != 0 && workers.is_empty());
        let main = main.or(first.copied()).or_else(|| allowed.iter().find(free).copied());
        let main = main.or(allowed.first().copied()).unwrap_or_default();
        let control: Vec<_> = if workers.is_empty() {
            allowed.iter().copied().filter(|c| *c != main).collect()
        } else if workers.contains(&main) {
            Vec::new()
        } else {
            vec![main]
        };
        let shared = control.is_empty();
        let control = if shared { allowed.to_vec() } else { control };
        Self { main, workers, control, shared }
    }
}

/// CPUs for `workers N`: the first after those that are skipped, the main core left out.
fn next_free(config: &Cpu, main: Option<usize>, allowed: &[usize]) -> Result<Vec<usize>, Error> {
    let count = config.workers.unwrap_or(0) as usize;
    let rest = allowed.iter().copied().skip(config.skip_cores as usize);
    let rest: Vec<_> = match main {
        Some(main) => rest.filter(|c| *c != main).collect(),
        None => rest.skip(1).collect(),
    };
    let workers: Vec<_> = rest.iter().copied().take(count).collect();
    if workers.len() == count {
        return Ok(workers);
    }
    let name = |(at, cpu): (usize, &usize)| if config.relative { at } else { *cpu }.to_string();
    let names = allowed.iter().enumerate().take(count).map(name);
    let all = (main.is_none() && count <= allowed.len()).then(|| names.collect::<Vec<_>>());
    Err(Error::TooFew(count, rest.len(), all.map(|all| all.join(","))))
}

#[cfg(test)]
mod tests {
    use control::config::Config;

    use super::*;

    #[test]
    fn a_cpu_that_is_named_counts_more_than_what_was_inherited() {
        let all = cpu::allowed().unwrap();
        let [first, .., last] = all[..] else { return };
        let done = std::thread::spawn(move || {
            cpu::pin(first).unwrap();
            let of = |main: usize, relative| {
                let main_core = Some(main as u32);
                of_this_process(&Cpu { main_core, relative, ..Cpu::default() }).unwrap()
            };
            let found = (of(last, false), of(last, true), of(first, false), of(900, false));
            (found, cpu::allowed().unwrap())
        });
        let (found, after) = done.join().unwrap();
        assert_eq!(found, (vec![first, last], vec![first], vec![first], vec![first]));
        assert_eq!(after, [first], "what it was given is as it was");
    }

    fn layout(text: &str, allowed: &[usize]) -> Result<Layout, Error> {
        let config = Config::parse(&format!("cpu {{ {text} }}"), &[]).unwrap();
        Layout::new(&config.cpu, allowed)
    }

    fn parts(text: &str, allowed: &[usize]) -> (usize, Vec<usize>, Vec<usize>, bool) {
        let l = layout(text, allowed).unwrap();
        (l.main, l.workers, l.control, l.shared)
    }

    #[test]
    fn one_data_thread_has_a_cpu_for_itself() {
        assert_eq!(parts("", &[0, 1]), (1, vec![], vec![0], false));
        assert_eq!(parts("", &[2, 3, 4]), (2, vec![], vec![3, 4], false));
        assert_eq!(parts("main-core 0", &[0, 1]), (0, vec![], vec![1], false));
        assert_eq!(parts("main-core 1 relative", &[4, 6]), (6, vec![], vec![4], false));
    }

    #[test]
    fn with_one_cpu_both_share_it() {
        assert_eq!(parts("main-core 1", &[1]), (1, vec![], vec![1], true));
        assert_eq!(parts("", &[0]), (0, vec![], vec![0], true));
    }

    #[test]
    fn workers_have_a_cpu_each_and_control_the_main_core() {
        assert_eq!(parts("workers 2", &[0, 1, 2]), (0, vec![1, 2], vec![0], false));
        assert_eq!(parts("main-core 2 workers 2", &[0, 1, 2]), (2, vec![0, 1], vec![2], false));
        assert_eq!(
            parts("corelist-workers 1,3 main-core 0", &[0, 1, 2, 3]),
            (0, vec![1, 3], vec![0], false)
        );
        assert_eq!(
            parts("skip-cores 1 workers 1", &[0, 1, 2, 3]),
            (0, vec![2], vec![0], false),
            "the skipped one is left free, the main core keeps its place"
        );
        assert!(parts("corelist-workers 0,1", &[0, 1]).3, "no CPU is left for control");
    }

    #[test]
    fn impossible_layouts_are_refused() {
        let text = |t, a: &[usize]| layout(t, a).unwrap_err().to_string();
        assert_eq!(
            text("main-core 7", &[0, 1]),
            "cpu: main-core: CPU 7 is not available to this process ([0, 1])"
        );
        assert_eq!(
            text("corelist-workers 0,1 main-core 1", &[0, 1]),
            "cpu: CPU 1 cannot be both main-core and a worker's"
        );
        let few = "cpu: 4 workers need a CPU each, only 1 are left";
        assert_eq!(text("workers 4", &[0, 1]), few);
        let error = layout("workers 2", &[1, 3]).unwrap_err();
        let hint = "cpu: 2 workers need a CPU each, only 1 are left; \
                    with `corelist 1,3' control shares their CPUs";
        assert_eq!(error.text("corelist"), hint);
        assert_eq!(parts("corelist-workers 1,3", &[1, 3]).1, [1, 3], "it does work");
        assert!(!layout("main-core 1 workers 2", &[1, 3]).unwrap_err().text("x").contains('`'));
    }
}
