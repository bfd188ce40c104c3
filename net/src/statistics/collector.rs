//! `statseg-collector-process`: computed statistics, as opposed to counted ones.

use std::io;

use control::process::{Event, Wake};
use control::stats::{Error, HEARTBEAT, Number};
use graph::{PoolUse, Samples};
use infra::counter::{Counter, Rows};

use super::Settings;
use super::memory::Memory;
use super::nodes::Nodes;
use crate::router::Router;

/// The entries it sets.
struct Collector {
    beats: u64,
    samples: Samples,
    nodes: Option<Nodes>,
    memory: Memory,
    last_update: Number,
    vector_rate: Number,
    input_rate: Number,
    workers: Number,
    /// By NUMA node.
    pools: Vec<Pool>,
}

/// Entries about the buffers of a NUMA node.
struct Pool {
    cached: Number,
    used: Number,
    available: Number,
}

pub(super) fn register(router: &mut Router, settings: Settings) -> io::Result<()> {
    let collector = Collector::new(router, settings.per_node)?;
    router.insert(collector);
    let body = move |router: &mut Router, _: Event| {
        update(router);
        Wake::After(settings.interval)
    };
    router.processes.spawn("statseg-collector-process", Box::new(body));
    Ok(())
}

/// Brings everything up to date that is not counted.
fn update(router: &mut Router) {
    router.publish_counters();
    router.with(|collector: &mut Collector, router| collector.update(router));
}

impl Collector {
    fn new(router: &mut Router, per_node: bool) -> io::Result<Self> {
        let failed = |e: Error| io::Error::other(e);
        let pools = router.engine.pool_usage_with(&[]);
        let stats = &mut router.stats;
        let threads = stats.threads();
        let nodes = per_node.then(|| Nodes::new(stats)).transpose().map_err(failed)?;
        let mut row = |name| stats.row(name, threads).map_err(failed);
        let samples = Samples {
            loops: row("/sys/loops_per_worker")?,
            vectors: row("/sys/vector_rate_per_worker")?,
            input: Rows::new(1, threads)?,
            cached: Rows::new(pools.len(), threads)?,
            nodes: nodes.as_ref().map(Nodes::samples),
        };
        let last_update = stats.scalar("/sys/last_update").map_err(failed)?;
        let memory = Memory::new(stats).map_err(failed)?;
        let mut gauge = |name: &str| stats.gauge(name).map_err(failed);
        let mut pool = |of: &PoolUse| {
            let mut gauge = |what| gauge(&format!("/buffer-pools/{}/{what}", of.name));
            let (cached, used, available) = (gauge("cached")?, gauge("used")?, gauge("available")?);
            Ok(Pool { cached, used, available })
        };
        let pools = pools.iter().map(&mut pool).collect::<io::Result<_>>()?;
        Ok(Self {
            beats: 0,
            samples,
            nodes,
            memory,
            last_update,
            vector_rate: gauge("/sys/vector_rate")?,
            input_rate: gauge("/sys/input_rate")?,
            workers: gauge("/sys/num_worker_threads")?,
            pools,
        })
    }
    fn update(&mut self, router: &mut Router) {
        if let Some(nodes) = &mut self.nodes {
            nodes.follow(router);
        }
        router.engine.sample(&self.samples);
        self.memory.update(&router.stats);
        self.beats += 1;
        let values =
            |row: &Rows<Counter>| row.row(0).iter().map(Counter::value).collect::<Vec<_>>();
        let stats = &router.stats;
        let busy = values(&self.samples.vectors).into_iter().filter(|v| *v > 0);
        let (sum, count) = busy.fold((0, 0), |(sum, count), v| (sum + v, count + 1));
        stats.set(self.vector_rate, sum / u64::max(count, 1));
        stats.set(self.input_rate, values(&self.samples.input).iter().sum());
        stats.set(self.workers, router.engine.workers() as u64);
        let cached = |at| self.samples.cached.row(at).iter().map(Counter::value).sum::<u64>();
        let cached: Vec<_> = (0..self.pools.len()).map(|at| cached(at) as usize).collect();
        let usages = router.engine.pool_usage_with(&cached);
        for (pool, PoolUse { cached, available, used, .. }) in self.pools.iter().zip(usages) {
            stats.set(pool.cached, cached as u64);
            stats.set(pool.available, available as u64);
            stats.set(pool.used, used as u64);
        }
        stats.set(self.last_update, router.now() as u64);
        stats.set(HEARTBEAT, self.beats);
    }
}
