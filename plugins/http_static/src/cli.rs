//! `http static server`, `http static listener`, `show http static server`, `clear http static
//! cache`.

use control::config::Size;
use net::prelude::*;

use super::{Numbers, Settings, add, disable, main_server, remove, running};

/// Settings of a server, for usage lines.
macro_rules! settings_usage {
    () => {
        "[uri <uri>] [www-root <path>] [url-handlers] [fifo-size <bytes>] [cache-size <bytes>] \
         [max-age <seconds>] [keepalive-timeout <seconds>] \
         [max-req-body-size|max-body-size <bytes>] [rx-buff-thresh <bytes>] \
         [private-segment-size|ptr-thresh <bytes>] [prealloc-fifos <count>] [debug [<level>]] \
         [http1-only]"
    };
}

/// Parses one setting; false if the next word is not a setting.
fn take(args: &mut Args<'_>, new: &mut Settings) -> Result<bool, Error> {
    let small = |args: &mut Args<'_>| -> Result<u32, Error> {
        let Size(bytes) = args.value("bytes")?;
        u32::try_from(bytes).map_err(|_| args.error("expected less than 4G"))
    };
    if args.keyword("uri") {
        new.uri = args.value("uri")?;
    } else if args.keyword("www-root") {
        new.www_root = args.value("path")?;
    } else if args.keyword("url-handlers") {
        new.url_handlers = true;
    } else if args.keyword("fifo-size") {
        new.fifo_size = small(args)?;
    } else if args.keyword("cache-size") {
        Size(new.cache_size) = args.value("bytes")?;
    } else if args.keyword("max-age") {
        new.max_age = args.value("seconds")?;
    } else if args.keyword("keepalive-timeout") {
        new.keepalive_timeout = args.value("seconds")?;
    } else if args.keyword("max-req-body-size") || args.keyword("max-body-size") {
        Size(new.max_body_size) = args.value("bytes")?;
    } else if args.keyword("rx-buff-thresh") {
        new.rx_buff_thresh = small(args)?;
    } else if args.keyword("private-segment-size") || args.keyword("ptr-thresh") {
        // Memory is allocated as needed.
        let Size(_) = args.value("bytes")?;
    } else if args.keyword("prealloc-fifos") {
        let _: u32 = args.value("count")?;
    } else if args.keyword("debug") {
        // There is no debug output.
        args.optional::<u32>();
    } else if args.peek() == Some("http3") {
        return Err(args.error("only HTTP/1 is supported, not"));
    } else if args.keyword("http1-only") {
        // Only HTTP/1 is supported.
    } else {
        return Ok(false);
    }
    Ok(true)
}

fn print(settings: &Settings, line: &mut Line<'_>) {
    let usual = Settings::default();
    line.keyword("uri", &settings.uri);
    if !settings.www_root.is_empty() {
        line.keyword("www-root", &settings.www_root);
    }
    if settings.url_handlers {
        line.word("url-handlers");
    }
    let numbers = [
        ("fifo-size", u64::from(settings.fifo_size), u64::from(usual.fifo_size)),
        ("cache-size", settings.cache_size, usual.cache_size),
        ("max-age", u64::from(settings.max_age), u64::from(usual.max_age)),
        (
            "keepalive-timeout",
            u64::from(settings.keepalive_timeout),
            u64::from(usual.keepalive_timeout),
        ),
        ("max-req-body-size", settings.max_body_size, usual.max_body_size),
        ("rx-buff-thresh", u64::from(settings.rx_buff_thresh), u64::from(usual.rx_buff_thresh)),
    ];
    for (word, value, _) in numbers.into_iter().filter(|(_, value, usual)| value != usual) {
        line.keyword(word, &value);
    }
}

/// Starts a server, or stops all servers.
#[derive(Debug, PartialEq)]
struct Serve(Option<Settings>);

impl Command for Serve {
    const PATHS: &'static [&'static str] = &["http static server"];
    const ABOUT: &'static str = "Serve files over HTTP";
    const USAGE: &'static str = concat!("disable | ", settings_usage!());
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        if args.keyword("disable") {
            return Ok(Self(None));
        }
        let mut new = Settings::default();
        while !args.is_empty() {
            if !take(args, &mut new)? {
                return Err(args.unknown());
            }
        }
        Ok(Self(Some(new)))
    }
}

impl Print for Serve {
    const STAGE: Stage = Stage::State;
    const UNDO: &'static str = "http static listener del uri {uri}";
    fn print(&self, line: &mut Line<'_>) {
        match &self.0 {
            Some(settings) => print(settings, line),
            None => drop(line.word("disable")),
        }
    }
}

/// Adds or deletes a server.
#[derive(Debug, PartialEq)]
struct Listener {
    is_add: bool,
    settings: Settings,
}

impl Command for Listener {
    const PATHS: &'static [&'static str] = &["http static listener"];
    const ABOUT: &'static str = "Serve files over HTTP at an additional endpoint";
    const USAGE: &'static str = concat!("[add|del] ", settings_usage!());
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut new = Self { is_add: true, settings: Settings::default() };
        while !args.is_empty() {
            if args.keyword("add") {
                new.is_add = true;
            } else if args.keyword("del") {
                new.is_add = false;
            } else if !take(args, &mut new.settings)? {
                return Err(args.unknown());
            }
        }
        Ok(new)
    }
}

impl Print for Listener {
    const STAGE: Stage = Stage::State;
    const UNDO: &'static str = "http static listener del uri {uri}";
    fn print(&self, line: &mut Line<'_>) {
        line.word(if self.is_add { "add" } else { "del" });
        print(&self.settings, line);
    }
}

/// Show HTTP servers for static files.
#[derive(Command)]
#[command("show http static server")]
struct Show {
    /// include caches
    cache: bool,
    /// accepted and ignored: see `show session`
    sessions: bool,
    /// accepted and ignored: endpoints are always shown
    listeners: bool,
    /// include all settings
    verbose: bool,
}

/// Clear the caches.
#[derive(Command)]
#[command("clear http static cache")]
struct Clear {
    /// only that of the server with this index
    index: Option<usize>,
}

#[derive(Serialize)]
struct Row {
    uri: String,
    www_root: String,
    url_handlers: bool,
    cache_size: u64,
    max_age: u32,
    keepalive_timeout: u32,
    max_body_size: u64,
    cached_bytes: u64,
    cached_files: usize,
    hits: u64,
    reads: u64,
    evictions: u64,
    #[serde(skip)]
    is_long: bool,
    #[serde(skip)]
    has_cache: bool,
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (index, row) in rows.iter().enumerate() {
        let root = if row.www_root.is_empty() { "none" } else { &row.www_root };
        let handlers = if row.url_handlers { ", url-handlers" } else { "" };
        writeln!(f, "[{index}] {} www-root {root}{handlers}", row.uri)?;
        if row.is_long {
            writeln!(
                f,
                "  max-age {} s, keepalive-timeout {} s, max-req-body-size {}",
                row.max_age, row.keepalive_timeout, row.max_body_size
            )?;
        }
        if row.has_cache {
            writeln!(
                f,
                "  cache {} bytes of {} in {} files, {} hits, {} reads, {} evictions",
                row.cached_bytes,
                row.cache_size,
                row.cached_files,
                row.hits,
                row.reads,
                row.evictions
            )?;
        }
    }
    Ok(())
}

fn show(router: &Router, c: &Show) -> Output {
    let _ = (c.sessions, c.listeners);
    let rows = running(router).map(|server| {
        let settings = &server.settings;
        let Numbers { bytes, files, hits, reads, evictions, .. } = server.cache.numbers();
        Row {
            uri: settings.uri.clone(),
            www_root: settings.www_root.clone(),
            url_handlers: settings.url_handlers,
            cache_size: settings.cache_size,
            max_age: settings.max_age,
            keepalive_timeout: settings.keepalive_timeout,
            max_body_size: settings.max_body_size,
            cached_bytes: bytes,
            cached_files: files,
            hits,
            reads,
            evictions,
            is_long: c.verbose,
            has_cache: c.cache,
        }
    });
    Output::rows(rows, write_rows)
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let main = main_server(router).map(|server| &server.settings);
    if let Some(settings) = main {
        lines.push(&Serve(Some(settings.clone())));
    }
    let others = running(router).map(|server| &server.settings).filter(|s| Some(*s) != main);
    for settings in others {
        lines.push(&Listener { is_add: true, settings: settings.clone() });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Serve| -> Result<(), Error> {
        match c.0 {
            Some(settings) => add(router, settings, true)?,
            None => disable(router)?,
        }
        Ok(())
    });
    cli.command(|router: &mut Router, c: Listener| -> Result<(), Error> {
        if c.is_add {
            add(router, c.settings, false)?;
        } else {
            remove(router, &c.settings.uri)?;
        }
        Ok(())
    });
    cli.command(|router: &mut Router, c: Show| -> Result<Output, Error> { Ok(show(router, &c)) });
    cli.command(|router: &mut Router, c: Clear| -> Result<(), Error> {
        if c.index.is_some_and(|index| index >= running(router).count()) {
            return Err(Error::new("no server with this index"));
        }
        let servers = running(router).enumerate();
        for (_, server) in servers.filter(|(n, _)| c.index.is_none_or(|index| index == *n)) {
            server.cache.clear();
        }
        Ok(())
    });
}
