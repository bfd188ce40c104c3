//! `ferrovia-agent`: holds a router to the state that a fleet's store desires, and is the
//! operator's tool for it.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agent::desired::is_name;
use agent::settings::Settings;
use agent::signature::{PrivateKey, PublicKey};
use agent::tool::{self, Put};
use agent::{etcd::Etcd, run};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

/// Status for a wrong command line.
const USAGE: u8 = 2;

/// A name of a router or of a set.
fn name(name: &'static str, shown: &'static str) -> Arg {
    Arg::new(name).value_name(shown).help("its name").value_parser(|text: &str| {
        let wrong = "letters, digits, `-', `_' and `.' only";
        if is_name(text) { Ok(text.to_owned()) } else { Err(wrong) }
    })
}

fn router() -> Arg {
    name("router", "ROUTER").required(true)
}

fn folder() -> Arg {
    let arg = Arg::new("folder").value_name("FOLDER").required(true);
    arg.value_parser(value_parser!(PathBuf)).help("folder with a file per section")
}

fn key(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("FILE").value_parser(value_parser!(PathBuf)).help(help)
}

fn put() -> Command {
    let confirm = Arg::new("confirm").long("confirm").value_name("MINUTES");
    let confirm = confirm.value_parser(value_parser!(f64));
    let force = Arg::new("force").long("force").action(ArgAction::SetTrue);
    Command::new("put")
        .about("store the files of a folder as the desired state of a router")
        .args([folder(), router()])
        .arg(confirm.help("roll back unless the router still reaches the store"))
        .arg(force.help("apply even if the router has a later revision"))
        .arg(key("sign", "private key to sign with"))
}

fn command() -> Command {
    let set = name("set", "SET").required(true);
    Command::new("ferrovia-agent")
        .about("Keeps a router in the state desired by a fleet's store")
        .version(env!("CARGO_PKG_VERSION"))
        .arg(
            Arg::new("config")
                .short('c')
                .long("config")
                .value_name("FILE")
                .default_value("/etc/ferrovia/agent.conf")
                .value_parser(value_parser!(PathBuf))
                .help("settings file"),
        )
        .subcommand_required(true)
        .subcommand(Command::new("run").about("keep this machine's router in its desired state"))
        .subcommand(put())
        .subcommand(
            Command::new("put-set")
                .about("store the files of a folder as a set for routers")
                .args([folder(), set]),
        )
        .subcommand(Command::new("get").about("print a router's desired lines").arg(router()))
        .subcommand(
            Command::new("diff").about("print what put would change").args([folder(), router()]),
        )
        .subcommand(
            Command::new("status")
                .about("print the state of all routers, or of one")
                .arg(name("router", "ROUTER")),
        )
        .subcommand(
            Command::new("roles")
                .about("print etcdctl commands for a router's permissions")
                .arg(router()),
        )
        .subcommand(
            Command::new("new-key")
                .about("create a private key for signing desired states")
                .arg(key("file", "file to write").required(true)),
        )
        .subcommand(
            Command::new("public-key")
                .about("print the public key of a private key")
                .arg(key("file", "file of the private key").required(true)),
        )
}

fn text<'a>(matches: &'a ArgMatches, name: &str) -> &'a str {
    matches.get_one::<String>(name).map_or("", String::as_str)
}

fn path<'a>(matches: &'a ArgMatches, name: &str) -> &'a Path {
    matches.get_one::<PathBuf>(name).map_or(Path::new(""), PathBuf::as_path)
}

/// Runs a subcommand that asks the store.
async fn ask(etcd: &Etcd, name: &str, matches: &ArgMatches) -> Result<String, String> {
    let router = || text(matches, "router");
    match name {
        "put" => {
            let options = Put {
                confirm: matches.get_one::<f64>("confirm").copied(),
                force: matches.get_flag("force"),
                by: std::env::var("USER").ok(),
                key: matches.get_one::<PathBuf>("sign").map(PathBuf::as_path),
            };
            tool::put(etcd, router(), path(matches, "folder"), &options).await
        }
        "put-set" => tool::put_set(etcd, text(matches, "set"), path(matches, "folder")).await,
        "get" => tool::get(etcd, router()).await,
        "diff" => tool::diff(etcd, router(), path(matches, "folder")).await,
        _ => tool::status(etcd, matches.get_one::<String>("router").map(String::as_str)).await,
    }
}

fn work(matches: &ArgMatches) -> Result<String, String> {
    let Some((name, given)) = matches.subcommand() else { return Ok(String::new()) };
    let public =
        |file: &Path| PrivateKey::read(file).map(|key| PublicKey::to_string(&key.public()));
    match name {
        "new-key" => {
            let file = path(given, "file");
            let failed =
                |e: std::io::Error| format!("{}: {}", file.display(), control::cli::io_text(&e));
            let mut made = control::private_file::create(file).map_err(failed)?;
            let text = PrivateKey::generate()?;
            std::io::Write::write_all(&mut made, text.as_bytes()).map_err(failed)?;
            return public(file);
        }
        "public-key" => return public(path(given, "file")),
        _ => {}
    }
    let settings = Settings::read(path(matches, "config"))?;
    match name {
        "run" => run::run(&settings).map(|()| String::new()),
        "roles" => Ok(tool::roles(settings.prefix(), text(given, "router"))),
        name => {
            let etcd = settings.store()?;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|e| e.to_string())?;
            runtime.block_on(ask(&etcd, name, given))
        }
    }
}

fn main() -> ExitCode {
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            // There is no other place for it.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { USAGE } else { 0 });
        }
    };
    match work(&matches) {
        Ok(text) => {
            print!("{text}{}", if text.is_empty() || text.ends_with('\n') { "" } else { "\n" });
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("ferrovia-agent: {why}");
            ExitCode::FAILURE
        }
    }
}
