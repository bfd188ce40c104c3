//! Putting the router together: settings, features, graph, threads.

use std::collections::HashMap;
use std::time::Duration;

use control::cli::io_text;
use control::config::{Config, Cpu, Statistics, Weight};
use control::log::Log;
use control::stats::Segment;
use graph::Settings;
use infra::cpu::{self, Policy, Variant};
use net::engine::Plugin;
use net::health::Severity;
use net::{Assembly, Origin, Router};

use crate::layout::Layout;
use crate::workers::{self, Placement};
use crate::{features, files, open_files, process, version};

/// Nice value of control when it shares one CPU with the data plane.
const FAVOUR: i32 = -10;
/// Shortest time between two updates of the statistics.
const SHORTEST_UPDATE: Duration = Duration::from_millis(10);
/// Workers for which counters have rows although the configuration asks for fewer.
const MOST_WORKERS: usize = 16;
/// Variants that the original has and we do not: processors we have no code of its own for.
const FOREIGN: &[&str] = &[
    "trm",
    "adl",
    "spr",
    "znver3",
    "znver4",
    "qdf24xx",
    "octeontx2",
    "thunderx2t99",
    "cortexa72",
    "neoversen1",
    "neoversen2",
    "neoversev2",
];

/// A router with its graph built and its threads running, and the commands for it.
pub fn router(config: &Config) -> Result<Assembly, String> {
    let failed = |what: &'static str| move |e| format!("{what}: {}", io_text(&e));
    let log = Log::new();
    if let Some(path) = &config.unix.log {
        process::write_log(&log, path)?;
    }
    let (mut parts, (layout, allowed)) = without_threads(config, &log, false)?;
    cpu::restrict_to(&layout.control).map_err(failed("cannot choose CPUs"))?;
    if let Some((policy, priority)) = schedule(&config.cpu)?
        && let Err(e) = policy.apply(priority)
    {
        let log = log.class("config", "scheduler");
        log.error(format_args!("cpu: scheduler-policy has no effect: {}", io_text(&e)));
    }
    parts.router.engine.start().map_err(failed("cannot start threads"))?;
    if layout.shared {
        // Without the right to it control waits a little longer for its turn.
        let _ = rustix::process::nice(FAVOUR);
    }
    parts.router.insert(Placement { config: config.cpu.clone(), allowed });
    notice_ignored(config, &mut parts.router);
    files::load(&config.plugins, &mut parts.router);
    parts.router.started();
    let Layout { main, workers, control, .. } = layout;
    let data = if workers.is_empty() { vec![main] } else { workers };
    let started = format_args!("data plane on CPUs {data:?}, control on {control:?}");
    log.class("main", "start").notice(started);
    Ok(parts)
}

/// A router with its graph built, and where its threads are to run, of which CPUs. Touches no file;
/// one that is only to check commands touches nothing outside.
pub fn without_threads(
    config: &Config,
    log: &Log,
    is_check: bool,
) -> Result<(Assembly, (Layout, Vec<usize>)), String> {
    log.configure(&config.logging);
    let failed = |what: &'static str| move |e| format!("{what}: {}", io_text(&e));
    let allowed = crate::layout::of_this_process(&config.cpu);
    let allowed = allowed.map_err(failed("cannot tell the CPUs of this process"))?;
    let layout = Layout::new(&config.cpu, &allowed).map_err(|e| e.text("corelist-workers"))?;
    let most = allowed.len().min(MOST_WORKERS).max(layout.workers.len());
    let settings = Settings { most_workers: most, ..settings(config, &layout, log)? };
    let budget = config.statseg.size.map(|size| size.0);
    let threads = 1 + layout.workers.len();
    let stats = Segment::new(settings.thread_rows(), budget);
    let router = stats.and_then(|mut stats| {
        stats.show_threads(threads);
        Router::counting_in(stats, settings, log.clone())
    });
    let router = router.map_err(failed("cannot reserve memory"))?;
    let mut parts = Assembly::new(router);
    if is_check {
        parts.router.insert(net::Trial);
    }
    parts.router.stanzas = config.others.clone();
    log.register(&mut parts.cli);
    parts.router.insert(statistics(&config.statseg)?);
    parts.router.insert(drivers::memif::Folder(config.unix.runtime_dir()));
    parts.router.insert(drivers::capture::Folder(config.unix.runtime_dir()));
    parts.router.insert(host_stack::Folder(config.unix.runtime_dir()));
    workers::register(&mut parts.router, &mut parts.cli);
    open_files::register(&mut parts.cli);
    parts.router.insert(configure::StartupFile(config.unix.startup_config()));
    parts.router.insert(configure::Extra(|parts| {
        parts.router.log.clone().register(&mut parts.cli);
    }));
    register(config, &mut parts)?;
    parts.router.engine.build().map_err(|e| format!("graph: {e}"))?;
    parts.router.publish_counters();
    Ok((parts, (layout, allowed)))
}

fn register(config: &Config, parts: &mut Assembly) -> Result<(), String> {
    let mut loaded = Vec::new();
    for feature in features::enabled(&config.plugins)? {
        parts.add(feature).map_err(|e| format!("feature {}: {e}", feature.name))?;
        if feature.origin != Origin::Core {
            loaded.push(Plugin::built_in(feature.file(), feature.about));
        }
    }
    files::prepare(&config.plugins, &mut parts.router);
    let (version, build_date) = (version::long(), version::build_date());
    parts.router.insert(net::engine::Program {
        version,
        build_date,
        built_by: version::BUILT_BY,
        built_on: version::BUILT_ON,
        folders: config.plugins.paths.clone(),
        plugins: loaded,
    });
    let Assembly { router, cli, api } = parts;
    api.finish(&router.clients).map_err(|e| e.to_string())?;
    router.clients.configure_trace(&config.api_trace);
    cli.check().map_err(|e| e.to_string())
}

/// Settings of the statistics.
fn statistics(config: &Statistics) -> Result<net::statistics::Settings, String> {
    let default = net::statistics::Settings::default();
    let interval = config.update_interval.map(|seconds| {
        let interval = Duration::try_from_secs_f64(seconds).ok().filter(|i| *i >= SHORTEST_UPDATE);
        interval.ok_or_else(|| format!("statseg: invalid update-interval {seconds}"))
    });
    let interval = interval.transpose()?.unwrap_or(default.interval);
    Ok(net::statistics::Settings { per_node: config.per_node_counters, interval })
}

fn settings(config: &Config, layout: &Layout, log: &Log) -> Result<Settings, String> {
    let default = Settings::default();
    let log = log.class("config", "variant");
    let variant = |name: &str| match Variant::from_name(name) {
        None if FOREIGN.contains(&name) => {
            log.notice(format_args!("node: variant {name} is not available, using the best one"));
            Ok(Variant::best())
        }
        found => found.ok_or_else(|| format!("node: unknown variant '{name}'")),
    };
    let named = config.node.named.iter().map(|(node, v)| Ok((node.clone(), variant(&v.name)?)));
    if let Some(bytes) = config.buffers.data_size {
        let refused = |why| format!("buffers: default data-size {bytes}: {why}");
        graph::choose_data_size(bytes as usize).map_err(refused)?;
    }
    Ok(Settings {
        buffers: config.buffers.per_numa.map_or(default.buffers, |n| n as usize),
        numa_nodes: infra::cpu::numa_nodes(),
        workers: layout.workers.iter().map(|cpu| Some(*cpu)).collect(),
        most_workers: layout.workers.len(),
        main_cpu: Some(layout.main),
        shares_cpu: layout.shared,
        poll_sleep: Duration::from_micros(config.unix.poll_sleep_usec.unwrap_or(0).into()),
        variant: config.node.default.as_ref().map(|v| variant(&v.name)).transpose()?,
        node_variants: named.collect::<Result<HashMap<_, _>, String>>()?,
    })
}

/// The policy that this thread, and those it starts, are asked to have, and its priority.
pub fn schedule(cpu: &Cpu) -> Result<Option<(Policy, u32)>, String> {
    let policy = match &cpu.scheduler_policy {
        Some(name) => {
            let policy = name.parse::<Policy>();
            policy.map_err(|()| format!("cpu: unknown scheduler-policy '{name}'"))?
        }
        None if cpu.scheduler_priority.is_some() => Policy::Other,
        None => return Ok(None),
    };
    let range = policy.priorities();
    let priority = cpu.scheduler_priority.unwrap_or(*range.start());
    if !range.contains(&priority) {
        let (low, high) = (range.start(), range.end());
        return Err(format!("cpu: scheduler-priority must be {low} to {high}, not {priority}"));
    }
    Ok(Some((policy, priority)))
}

/// Reports words of the configuration that have no effect, in the log and in `show health`.
fn notice_ignored(config: &Config, router: &mut Router) {
    let log = router.log.class("config", "ignored");
    for notice in &config.notices {
        let severity = match notice.weight {
            Weight::Loss => Severity::Warning,
            Weight::Needless => Severity::Note,
        };
        match notice.weight {
            Weight::Loss => log.warn(notice),
            Weight::Needless => log.notice(notice),
        }
        let subject = format_args!("startup configuration, line {}", notice.line);
        router.note_start(severity, subject, notice.text());
    }
}
