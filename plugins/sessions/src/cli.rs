//! `show session tables`.

use net::prelude::*;

use super::Listed;

/// Show the session tables of stateful features and their use
#[derive(Command)]
#[command("show session tables")]
struct ShowTables {}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, ShowTables {}| {
        let mut rows = Vec::new();
        for (table, count) in router.own::<Listed>().0.clone() {
            for (thread, usage) in count(router).into_iter().enumerate() {
                if usage.made == 0 && usage.refused == 0 {
                    continue;
                }
                rows.push(Row {
                    table,
                    thread,
                    sessions: usage.sessions,
                    limit: usage.limit,
                    bytes: usage.bytes,
                    made: usage.made,
                    expired: usage.expired,
                    evicted: usage.evicted,
                    refused: usage.refused,
                    clashes: usage.clashes,
                });
            }
        }
        Ok(Output::rows(rows, write_rows))
    });
}

#[derive(Serialize)]
struct Row {
    table: &'static str,
    thread: usize,
    sessions: usize,
    limit: usize,
    bytes: usize,
    made: u64,
    expired: u64,
    evicted: u64,
    refused: u64,
    clashes: u64,
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let head = ["table", "thread", "sessions", "limit", "bytes", "made", "expired"];
    write!(f, "{:<12}", head[0])?;
    head[1..].iter().try_for_each(|name| write!(f, " {name:>10}"))?;
    writeln!(f, " {:>10} {:>10} {:>10}", "evicted", "refused", "clashes")?;
    rows.iter().try_for_each(|r| {
        let Row { table, thread, sessions, limit, bytes, made, expired, .. } = r;
        write!(f, "{table:<12} {thread:>10} {sessions:>10} {limit:>10} {bytes:>10}")?;
        write!(f, " {made:>10} {expired:>10} {:>10}", r.evicted)?;
        writeln!(f, " {:>10} {:>10}", r.refused, r.clashes)
    })
}
