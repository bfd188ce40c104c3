//! `show threads`: threads, their CPUs, and how often they slept.

use std::fmt;
use std::fs;

use control::cli::{Cli, Command, Output};
use graph::{Spent, ThreadInfo};
use serde::Serialize;

use crate::router::Router;

/// Show the threads.
#[derive(Command)]
#[command("show threads")]
struct ShowThreads;

const TITLES: [&str; 11] = [
    "ID",
    "Name",
    "LWP",
    "CPU",
    "Sched",
    "Loops",
    "Epolls",
    "Sleeps",
    "FdWakeups",
    "WakeReq",
    "Wakeups",
];

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.values("worker", |router: &Router| {
        (0..router.engine.workers()).map(|worker| worker.to_string()).collect()
    });
    cli.command(|router, _: ShowThreads| {
        let row = |info: ThreadInfo| Row { scheduler: scheduler(info.lwp), info };
        Ok(Output::rows(all(router).into_iter().map(row), write_rows))
    });
}

/// All threads; the main one comes first.
pub(super) fn all(router: &mut Router) -> Vec<ThreadInfo> {
    let mut infos = router.engine.thread_infos();
    if infos.first().is_some_and(|t| t.id > 0) {
        infos.insert(0, main_thread());
    }
    infos
}

/// Beside workers the main thread runs control only; it has no loop to count.
fn main_thread() -> ThreadInfo {
    let cpu = only_cpu();
    ThreadInfo {
        id: 0,
        name: "vpp_main".to_owned(),
        lwp: std::process::id(),
        cpu,
        numa_node: cpu.and_then(infra::cpu::numa_node),
        loops: 0,
        epolls: 0,
        sleeps: 0,
        fd_wakeups: 0,
        wake_requests: 0,
        wakeups: 0,
        spent: Spent::default(),
    }
}

/// The CPU that control is bound to, if it is one.
pub(super) fn only_cpu() -> Option<usize> {
    match infra::cpu::allowed().as_deref() {
        Ok([cpu]) => Some(*cpu),
        _ => None,
    }
}

#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    info: ThreadInfo,
    scheduler: String,
}

/// `other (0)`: policy and priority of a thread (proc(5), fields 40 and 41).
fn scheduler(lwp: u32) -> String {
    let stat = fs::read_to_string(format!("/proc/self/task/{lwp}/stat")).unwrap_or_default();
    // The name in parentheses may hold blanks; field 3 comes after it.
    let fields: Vec<_> = stat.rsplit(')').next().unwrap_or_default().split(' ').skip(1).collect();
    let field = |number: usize| fields.get(number - 3).copied().unwrap_or("0");
    let policy = match field(41) {
        "1" => "fifo",
        "2" => "rr",
        "3" => "batch",
        "5" => "idle",
        "6" => "deadline",
        _ => "other",
    };
    format!("{policy} ({})", field(40))
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let cells = |row: &Row| {
        let t = &row.info;
        let numbers = [t.loops, t.epolls, t.sleeps, t.fd_wakeups, t.wake_requests, t.wakeups];
        let cpu = t.cpu.map_or_else(|| "any".to_owned(), |cpu| cpu.to_string());
        let mut cells =
            vec![t.id.to_string(), t.name.clone(), t.lwp.to_string(), cpu, row.scheduler.clone()];
        cells.extend(numbers.map(|n| n.to_string()));
        cells
    };
    let rows: Vec<_> = rows.iter().map(cells).collect();
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].len());
        widths.chain([TITLES[column].len()]).max().unwrap_or(0)
    };
    let titles = TITLES.iter().enumerate().map(|(c, title)| format!("{title:^0$}", width(c)));
    writeln!(f, "{}", titles.collect::<Vec<_>>().join(" "))?;
    rows.iter().try_for_each(|row| {
        let cells = row.iter().enumerate().map(|(c, cell)| format!("{cell:>0$}", width(c)));
        writeln!(f, "{}", cells.collect::<Vec<_>>().join(" "))
    })
}
