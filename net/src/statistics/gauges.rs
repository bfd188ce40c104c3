//! State of the router for Prometheus and the console: the process, buffers, interfaces, health.
//! Features add theirs to [`Router::gauges`]. It is collected in parts, so that no part occupies
//! the control thread for long, and only while it is being read.

use std::time::Duration;

use control::process::{Event, Wake};
use control::stats::gauges::Gauges;
use infra::order::Order;

use crate::engine::Program;
use crate::health::{Check, Finding, Severity, When};
use crate::interface::{COLUMNS, Interface, Kind};
use crate::router::Router;

/// Time between two rounds.
const PAUSE: Duration = Duration::from_secs(5);
/// Between two parts of a round, of which each has a turn of its own.
const SOON: Duration = Duration::from_millis(1);
/// Time until the next check for readers.
const UNREAD: Duration = Duration::from_secs(2);

pub(super) fn register(router: &mut Router) {
    router.gauges.push(process);
    router.gauges.push(interfaces);
    let mut round = Round::default();
    let body = move |router: &mut Router, _: Event| {
        if !router.published.is_read() {
            return Wake::After(UNREAD);
        }
        if round.step(router) {
            return Wake::After(SOON);
        }
        router.published.publish(std::mem::take(&mut round).finish(router));
        Wake::After(PAUSE)
    };
    router.processes.spawn("statseg-state-process", Box::new(body));
}

/// A round: what each feature adds, then what each check finds.
#[derive(Default)]
struct Round {
    all: Gauges,
    findings: Vec<Finding>,
    checks: Vec<&'static str>,
    /// Parts that have been taken.
    taken: usize,
}

impl Round {
    /// Takes the next part; whether there was one.
    fn step(&mut self, router: &mut Router) -> bool {
        let at = self.taken;
        self.taken += 1;
        let count = router.gauges.iter().count();
        let add = router.gauges.iter().nth(at).copied();
        if let Some(add) = add {
            add(router, &mut self.all);
            return true;
        }
        let always = |(check, when): &(Check, When)| (*when == When::Always).then_some(*check);
        let check = router.checks.iter().filter_map(always).nth(at - count);
        let Some(check) = check else { return false };
        self.checks.push(check.name);
        self.findings.append(&mut router.look(check));
        true
    }
    fn finish(mut self, router: &Router) -> Gauges {
        health(&mut self.findings, &self.checks, &mut self.all);
        let vectors = router.stats.vectors_by(COLUMNS);
        self.all.by_interface = vectors.map(str::to_owned).collect();
        self.all
    }
}

impl Router {
    /// Publishes the state of the router now.
    pub fn publish_gauges(&mut self) {
        let mut round = Round::default();
        while round.step(self) {}
        let all = round.finish(self);
        self.published.publish(all);
    }
}

fn process(router: &mut Router, gauges: &mut Gauges) {
    let long = router.state::<Program>().map_or("", |program| program.version.as_str());
    let version = long.split(' ').nth(1).unwrap_or(long);
    let help = "The program that runs; always 1.";
    gauges.gauge("build_info", help, &[("version", version)], 1.0);
    let seconds = control::wall::processor_time().as_secs_f64();
    gauges.counter("process_cpu_seconds", "Processor time of the process.", &[], seconds);
    gauges.gauge("uptime_seconds", "Seconds since the start.", &[], router.now());
    for pool in router.engine.pool_usage_with(&[]) {
        let help = "Packet buffers that there may be.";
        gauges.gauge("buffers_limit", help, &[("pool", &pool.name)], pool.limit as f64);
    }
}

fn interfaces(router: &mut Router, gauges: &mut Gauges) {
    // That of the router itself has no link.
    for i in router.interfaces.iter().filter(|i| i.kind != Kind::Local) {
        let Interface { name, tag, hardware, link_speed, .. } = i;
        let of = [("interface", name.as_str())];
        let flag = |is: bool| f64::from(u8::from(is));
        let help = "Whether the interface is set up.";
        gauges.gauge("interface_admin_up", help, &of, flag(i.admin_up));
        let help = "Whether the interface can carry packets.";
        gauges.gauge("interface_link_up", help, &of, flag(i.link_up));
        if *link_speed > 0 {
            let help = "Speed of the link.";
            let speed = f64::from(*link_speed) * 1000.0;
            gauges.gauge("interface_speed_bits_per_second", help, &of, speed);
        }
        let mac = i.mac.to_string();
        let labels = [("interface", name.as_str()), ("mac", &mac), ("hardware", hardware)];
        let labels = labels.into_iter().chain([("tag", tag.as_str())]);
        let labels: Vec<_> = labels.filter(|(_, value)| !value.is_empty()).collect();
        gauges.gauge("interface_info", "Facts about the interface; always 1.", &labels, 1.0);
    }
}

fn health(findings: &mut [Finding], checks: &[&'static str], gauges: &mut Gauges) {
    findings.order_by_key(|finding| finding.severity);
    let severities =
        [("error", Severity::Error), ("warning", Severity::Warning), ("note", Severity::Note)];
    for (name, severity) in severities {
        let count = findings.iter().filter(|found| found.severity == severity).count();
        let help = "Findings of `show health'.";
        gauges.gauge("health_findings", help, &[("severity", name)], count as f64);
    }
    let is_wrong = |finding: &&Finding| finding.severity != Severity::Note;
    for check in checks {
        let wrong = findings.iter().filter(is_wrong).any(|f| f.check == *check);
        let help = "Whether a check of `show health' finds nothing wrong.";
        gauges.gauge("health_check_ok", help, &[("check", check)], f64::from(u8::from(!wrong)));
    }
    let healthy = !findings.iter().any(|finding| is_wrong(&finding));
    gauges.health = serde_json::json!({ "healthy": healthy, "findings": findings });
}
