//! Messages of the module `vpe`: what the program is, its clock and its log.

use control::api::types::{LogLevel, Timestamp};
use control::api::{Api, Message, Text};
use control::log::Level;
use control::wall;

use super::about::program;
use crate::router::Router;

/// Get the program version.
#[derive(Message)]
#[reply(ShowVersionReply)]
struct ShowVersion {}

/// Name and version of the program.
#[derive(Message)]
struct ShowVersionReply {
    /// name
    program: Text<32>,
    /// version
    version: Text<32>,
    /// date of the build
    build_date: Text<32>,
    /// empty: the build directory is not recorded
    build_directory: Text<256>,
}

/// Get the time.
#[derive(Message)]
#[reply(ShowVpeSystemTimeReply)]
struct ShowVpeSystemTime {}

/// The time.
#[derive(Message)]
struct ShowVpeSystemTimeReply {
    vpe_system_time: Timestamp,
}

/// List log entries.
#[derive(Message)]
#[details(LogDetails)]
struct LogDump {
    /// only entries from this time on
    start_timestamp: Timestamp,
}

/// An entry of the log.
#[derive(Message)]
struct LogDetails {
    timestamp: Timestamp,
    level: LogLevel,
    /// class and subclass
    msg_class: Text<32>,
    message: Text<256>,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("vpe", "1.7.0")
        .call(|router, _: ShowVersion| {
            Ok(ShowVersionReply {
                program: "ferrovia".into(),
                version: env!("CARGO_PKG_VERSION").into(),
                build_date: program(router).build_date.into(),
                build_directory: "".into(),
            })
        })
        .call(|_, _: ShowVpeSystemTime| {
            Ok(ShowVpeSystemTimeReply { vpe_system_time: Timestamp(wall::now().as_secs_f64()) })
        })
        .dump(|router: &mut Router, m: LogDump| {
            let entries = router.log.entries().into_iter();
            let rows = entries.filter_map(|entry| {
                let timestamp = Timestamp(entry.time.as_secs_f64());
                (timestamp >= m.start_timestamp).then(|| LogDetails {
                    timestamp,
                    level: level(entry.level),
                    msg_class: entry.class.into(),
                    message: entry.text.into(),
                })
            });
            rows.collect()
        });
}

fn level(level: Level) -> LogLevel {
    match level {
        Level::Disabled => LogLevel::DISABLED,
        Level::Emerg => LogLevel::EMERG,
        Level::Alert => LogLevel::ALERT,
        Level::Crit => LogLevel::CRIT,
        Level::Error => LogLevel::ERR,
        Level::Warn => LogLevel::WARNING,
        Level::Notice => LogLevel::NOTICE,
        Level::Info => LogLevel::INFO,
        Level::Debug => LogLevel::DEBUG,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::bench;
    use super::*;

    #[test]
    fn the_log_is_dumped_from_a_time_on() {
        let mut b = bench();
        b.router.log.class("test", "api").error("one");
        b.talk(|local, router| {
            let dump = |start| LogDump { start_timestamp: Timestamp(start) };
            let all = local.dump(router, &dump(0.0));
            let last = all.last().expect("one was written");
            assert_eq!(&*last.message, "one");
            assert_eq!((&*last.msg_class, last.level), ("test/api", LogLevel::ERR));
            assert!(local.dump(router, &dump(last.timestamp.0 + 1.0)).is_empty());
        });
    }

    #[test]
    fn program_and_time_are_told() {
        let mut b = bench();
        b.talk(|local, router| {
            let version = local.call(router, &ShowVersion {}).unwrap();
            assert_eq!(&*version.program, "ferrovia");
            assert_eq!(&*version.version, env!("CARGO_PKG_VERSION"));
            assert_eq!((&*version.build_date, &*version.build_directory), ("", ""));
            let time = local.call(router, &ShowVpeSystemTime {}).unwrap().vpe_system_time;
            assert!((time.0 - wall::now().as_secs_f64()).abs() < 5.0);
        });
    }
}
