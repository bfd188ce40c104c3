//! `make bench`: the cost of packets in the daemon, measured from outside. See the README.
#![forbid(unsafe_code)]

mod churn;
mod clock;
mod daemon;
mod groups;
mod options;
mod plot;
mod scenario;
mod sealed;
mod traffic;
mod window;
mod workers;

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args().any(|word| word == "--help") {
        println!("{}", options::usage());
        return ExitCode::SUCCESS;
    }
    let options = match options::Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::FAILURE;
        }
    };
    match groups::run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("bench: {e}");
            ExitCode::FAILURE
        }
    }
}
