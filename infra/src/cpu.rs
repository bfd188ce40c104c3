//! The processor: which CPUs this process may use, where its threads run, and what it can do.
//!
//! Safety contract of this module: the only unsafe code is single instructions without memory
//! operands that matter (time-stamp read, prefetch), which every x86-64 has, the making of marks of
//! a processor's kind ([`Cpu`]), and a system call that reads one number ([`Policy`]).

mod description;
mod kind;
mod schedule;
mod variant;

use std::collections::BTreeSet;
use std::fs;
use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

pub use description::Description;
pub use kind::{Baseline, Cpu, Hsw, Icl, Skx};
pub use schedule::Policy;
pub use variant::Variant;

/// CPUs that this thread may run on, in ascending order.
///
/// Called before any thread is pinned it names the CPUs the process was given (taskset, cgroup,
/// systemd).
pub fn allowed() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

/// Makes the calling thread run on one of `cpus` only.
///
/// Fails with `InvalidInput` if `cpus` names none that exists and is allowed.
pub fn restrict_to(cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        set.set(cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// Makes the calling thread run on `cpu` only. Fails as [`restrict_to`] does.
pub fn pin(cpu: usize) -> io::Result<()> {
    restrict_to(&[cpu])
}

/// NUMA node of `cpu`; `None` if the system does not tell (no such CPU, kernel without NUMA).
pub fn numa_node(cpu: usize) -> Option<usize> {
    let entries = fs::read_dir(format!("/sys/devices/system/cpu/cpu{cpu}")).ok()?;
    entries
        .flatten()
        .find_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse().ok())
}

/// NUMA nodes of the CPUs that this thread may run on, in ascending order; node 0 where the system
/// does not tell.
pub fn numa_nodes() -> Vec<usize> {
    let cpus = allowed().unwrap_or_default();
    let nodes: BTreeSet<_> = cpus.into_iter().filter_map(numa_node).collect();
    if nodes.is_empty() { vec![0] } else { nodes.into_iter().collect() }
}

/// The time-stamp counter, which runs at a constant rate on every CPU alike; `None` where the
/// processor has no such counter.
#[inline(always)]
pub fn time_stamp() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 has RDTSC, and it touches no memory.
        Some(unsafe { core::arch::x86_64::_rdtsc() })
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}

/// Asks for the cache line of `target` to be brought near; no effect but on time.
#[inline(always)]
pub fn prefetch<T>(target: &T) {
    prefetch_ptr(std::ptr::from_ref(target).cast());
}

/// Asks for the cache line at `address` to be brought near; `address` need not be valid.
#[inline(always)]
pub fn prefetch_ptr(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: PREFETCHT0 is part of the x86-64 baseline, never faults whatever the address is,
        // and reads nothing that the program can observe.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinning_narrows_what_is_allowed() {
        let before = allowed().unwrap();
        let last = *before.last().unwrap();

        let after = std::thread::spawn(move || {
            pin(last).unwrap();
            allowed().unwrap()
        });

        assert_eq!(after.join().unwrap(), [last]);
        assert_eq!(allowed().unwrap(), before, "other threads stay where they were");
    }

    #[test]
    fn impossible_cpus_are_refused() {
        assert_eq!(restrict_to(&[]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(pin(usize::MAX).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn unknown_cpu_has_no_numa_node() {
        assert_eq!(numa_node(usize::MAX), None);
    }

    #[test]
    fn prefetch_takes_any_address() {
        prefetch(&0u8);
        prefetch_ptr(std::ptr::null());
        prefetch_ptr(std::ptr::without_provenance(usize::MAX));
    }
}
