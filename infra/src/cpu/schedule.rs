//! Scheduling policy and affinity of threads: sched(7).

use std::io;
use std::str::FromStr;

/// A policy of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The usual one.
    Other,
    /// The usual one, for batch work.
    Batch,
    /// Runs when the CPU is otherwise idle.
    Idle,
    /// Real time: runs until it gives the CPU up.
    Fifo,
    /// Real time, taking turns with those of the same priority.
    RoundRobin,
}

impl FromStr for Policy {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "other" => Ok(Self::Other),
            "batch" => Ok(Self::Batch),
            "idle" => Ok(Self::Idle),
            "fifo" => Ok(Self::Fifo),
            "rr" => Ok(Self::RoundRobin),
            _ => Err(()),
        }
    }
}

impl Policy {
    /// Priorities it has: 1 to 99 for real time, else none but 0.
    pub fn priorities(self) -> std::ops::RangeInclusive<u32> {
        match self {
            Self::Other | Self::Batch | Self::Idle => 0..=0,
            Self::Fifo | Self::RoundRobin => 1..=99,
        }
    }
    /// Puts the calling thread, and those it starts later, under this policy with one of its
    /// [`priorities`](Self::priorities). Real time needs the right to it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn apply(self, priority: u32) -> io::Result<()> {
        let policy = match self {
            Self::Other => libc::SCHED_OTHER,
            Self::Batch => libc::SCHED_BATCH,
            Self::Idle => libc::SCHED_IDLE,
            Self::Fifo => libc::SCHED_FIFO,
            Self::RoundRobin => libc::SCHED_RR,
        };
        let parameters = libc::sched_param { sched_priority: priority.cast_signed() };
        // SAFETY: 0 names the calling thread, and the pointer is to a whole `sched_param`, which
        // the call only reads.
        match unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_and_those_it_starts_run_under_the_policy() {
        let policy_of = || {
            let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            let fields: Vec<_> = stat.rsplit(')').next().unwrap().split(' ').collect();
            fields[39].to_owned() // field 41, counted from the third on
        };
        let thread = std::thread::spawn(move || {
            "batch".parse::<Policy>().unwrap().apply(0).unwrap();
            (policy_of(), std::thread::spawn(policy_of).join().unwrap())
        });
        let batch = libc::SCHED_BATCH.to_string();
        assert_eq!(thread.join().unwrap(), (batch.clone(), batch));
        assert!(Policy::Fifo.apply(100).is_err() && "deadline".parse::<Policy>().is_err());
    }
}
