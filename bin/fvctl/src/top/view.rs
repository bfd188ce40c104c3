//! The live view: keys, and what is on the screen.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, poll, read};
use serde_json::Value;
use signal_hook::consts::SIGTERM;

use super::sample::{Sample, Sampler, number, rows, text};
use super::screen::{Line, Screen};
use super::tables::{Cell, NODE, Table, Tables, node_rates, node_row};

/// Longest wait for a key before signals are looked at.
const LOOK: Duration = Duration::from_millis(200);
/// Lines beside those of the table.
const FRAME: usize = 5;
const HELP: &[&str] = &[
    "",
    "  n i t d, Tab   nodes, interfaces, threads, drops; the next one",
    "  left, right    sort by the column before, after",
    "  r              the other way round",
    "  up, down       choose a row (also page up and down, home, end)",
    "  Enter          more of that node or interface; Esc goes back",
    "  Space          pause",
    "  + -            longer, shorter intervals",
    "  q              quit",
];

/// The table that is shown.
#[derive(Clone, Copy, PartialEq)]
enum Which {
    Nodes,
    Interfaces,
    Threads,
    Drops,
}

const ORDER: [Which; 4] = [Which::Nodes, Which::Interfaces, Which::Threads, Which::Drops];

/// A node or an interface that is looked at closely.
#[derive(Clone)]
enum Closer {
    Node(String),
    Interface(String),
}

struct View {
    which: Which,
    /// Sorted column and direction of each table, once chosen.
    sorts: [Option<(usize, bool)>; 4],
    chosen: usize,
    closer: Option<Closer>,
    is_paused: bool,
    shows_help: bool,
    delay: Duration,
    /// The samples that rates are of.
    between: Option<(Sample, Sample)>,
    /// Reason why there is no new one.
    error: Option<String>,
    /// Next nodes of the node that is looked at, before and now.
    edges: [Vec<(String, u64)>; 2],
}

/// Shows the router until the operator leaves or the program is ended.
pub fn run(sampler: &mut Sampler, delay: Duration) -> io::Result<()> {
    let is_over = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGTERM, Arc::clone(&is_over)).map(drop)?;
    let mut view = View {
        which: Which::Nodes,
        sorts: [None; 4],
        chosen: 0,
        closer: None,
        is_paused: false,
        shows_help: false,
        delay,
        between: None,
        error: None,
        edges: Default::default(),
    };
    let mut last = sampler.take()?;
    let mut next = Instant::now() + Duration::from_millis(300);
    let mut screen = Screen::take()?;
    while !is_over.load(Ordering::Relaxed) {
        let (_, height) = screen.size();
        let lines = view.lines(height);
        screen.show(&lines)?;
        let wait = next.saturating_duration_since(Instant::now()).min(LOOK);
        if poll(wait)?
            && let Event::Key(key) = read()?
            && key.kind != KeyEventKind::Release
        {
            if is_end(key) {
                return Ok(());
            }
            view.press(key.code);
        }
        if Instant::now() < next {
            continue;
        }
        next = Instant::now() + view.delay;
        if view.is_paused {
            continue;
        }
        match sampler.take() {
            Ok(sample) => {
                view.look_closer(sampler);
                let before = std::mem::replace(&mut last, sample.clone());
                view.between = Some((before, sample));
                view.error = None;
            }
            Err(e) => {
                view.error = Some(e.to_string());
                if matches!(
                    e.kind(),
                    io::ErrorKind::UnexpectedEof
                        | io::ErrorKind::BrokenPipe
                        | io::ErrorKind::ConnectionReset
                ) {
                    return Err(e);
                }
            }
        }
    }
    Ok(())
}

fn is_end(key: KeyEvent) -> bool {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    key.code == KeyCode::Char('q') || is_control && key.code == KeyCode::Char('c')
}

impl View {
    fn press(&mut self, key: KeyCode) {
        self.shows_help = matches!(key, KeyCode::Char('?' | 'h')) && !self.shows_help;
        let (column, is_reverse) = self.sort();
        match key {
            KeyCode::Char('n') => self.go(Which::Nodes),
            KeyCode::Char('i') => self.go(Which::Interfaces),
            KeyCode::Char('t') => self.go(Which::Threads),
            KeyCode::Char('d') => self.go(Which::Drops),
            KeyCode::Tab => self.go(ORDER[(self.which as usize + 1) % ORDER.len()]),
            KeyCode::BackTab => self.go(ORDER[(self.which as usize + 3) % ORDER.len()]),
            KeyCode::Char('r') => self.sorts[self.which as usize] = Some((column, !is_reverse)),
            KeyCode::Left => self.sort_by(column.saturating_sub(1)),
            KeyCode::Right => self.sort_by(column + 1),
            KeyCode::Up => self.chosen = self.chosen.saturating_sub(1),
            KeyCode::Down => self.chosen += 1,
            KeyCode::PageUp => self.chosen = self.chosen.saturating_sub(20),
            KeyCode::PageDown => self.chosen += 20,
            KeyCode::Home => self.chosen = 0,
            KeyCode::End => self.chosen = usize::MAX,
            KeyCode::Char(' ') => self.is_paused = !self.is_paused,
            KeyCode::Char('+') => self.delay = (self.delay * 2).min(Duration::from_secs(60)),
            KeyCode::Char('-') => self.delay = (self.delay / 2).max(Duration::from_millis(125)),
            KeyCode::Enter => self.enter(),
            KeyCode::Esc | KeyCode::Backspace => self.closer = None,
            _ => {}
        }
        let last = self.table().map_or(0, |table| table.rows.len()).saturating_sub(1);
        self.chosen = self.chosen.min(last);
    }
    fn go(&mut self, which: Which) {
        (self.which, self.chosen, self.closer) = (which, 0, None);
    }
    /// The column that is sorted by, and whether the largest come first.
    fn sort(&self) -> (usize, bool) {
        self.table().map_or((0, false), |table| table.sort)
    }
    fn sort_by(&mut self, column: usize) {
        let Some(table) = self.table() else { return };
        let column = column.min(table.columns.len() - 1);
        let is_number = |row: &Vec<Cell>| !matches!(row[column], Cell::Text(_));
        let is_reverse = table.rows.first().is_some_and(is_number);
        self.sorts[self.which as usize] = Some((column, is_reverse));
    }
    /// Looks closer at the chosen row.
    fn enter(&mut self) {
        let Some(table) = self.table() else { return };
        let Some(Cell::Text(name)) = table.order().get(self.chosen).map(|row| row[0].clone())
        else {
            return;
        };
        self.edges = Default::default();
        self.closer = match self.which {
            Which::Nodes | Which::Drops => Some(Closer::Node(name)),
            Which::Interfaces => Some(Closer::Interface(name)),
            Which::Threads => None,
        };
    }
    /// Asks where the packets of the node go that is looked at.
    fn look_closer(&mut self, sampler: &mut Sampler) {
        let Some(Closer::Node(name)) = &self.closer else { return };
        let answer = sampler.ask(&format!("show node {name}")).unwrap_or_default();
        let edge = |row: &Value| (text(&row["name"]), number(&row["vectors"]));
        let now = rows(&answer["next"]).map(edge).collect();
        self.edges = [std::mem::take(&mut self.edges[1]), now];
    }
    /// The table that is shown or behind what is looked at closely.
    fn table(&self) -> Option<Table> {
        let (old, new) = self.between.as_ref()?;
        let tables = Tables::between(old, new);
        let mut table = match self.which {
            Which::Nodes => tables.nodes,
            Which::Interfaces => tables.interfaces,
            Which::Threads => tables.threads,
            Which::Drops => tables.drops,
        };
        if let Some(sort) = self.sorts[self.which as usize] {
            table.sort = sort;
        }
        Some(table)
    }
    fn lines(&self, height: usize) -> Vec<Line> {
        let mut lines = self.head();
        if self.shows_help {
            lines.extend(HELP.iter().map(|line| Line::plain(*line)));
            return lines;
        }
        match (&self.between, &self.closer) {
            (None, _) => lines.push(Line::plain("  the first interval …")),
            (Some((old, new)), Some(closer)) => self.details(&mut lines, old, new, closer),
            (Some(_), None) => self.list(&mut lines, height),
        }
        lines
    }
    fn head(&self) -> Vec<Line> {
        let names = ["[n]odes", "[i]nterfaces", "[t]hreads", "[d]rops"];
        let mark = |(at, name): (usize, &&str)| match at == self.which as usize {
            true => format!("*{name}"),
            false => format!(" {name}"),
        };
        let menu: Vec<_> = names.iter().enumerate().map(mark).collect();
        let state = if self.is_paused { "  PAUSED" } else { "" };
        let title = match &self.between {
            None => "fvctl top".to_owned(),
            Some((old, new)) => {
                let seconds = new.at.duration_since(old.at).as_secs_f64();
                let up = new.uptime as u64;
                let (used, total) = new.buffers;
                let version: Vec<_> = new.version.split(' ').take(2).collect();
                format!(
                    "{}  up {}:{:02}:{:02}  interval {seconds:.1} s  buffers {used}/{total}{state}",
                    version.join(" "),
                    up / 3600,
                    up / 60 % 60,
                    up % 60
                )
            }
        };
        let menu = format!("{}   ? help  q quit", menu.join(" "));
        let error = self.error.as_ref().map_or_else(String::new, |e| format!("! {e}"));
        vec![Line::bold(title), Line::plain(menu), Line::plain(error)]
    }
    fn list(&self, lines: &mut Vec<Line>, height: usize) {
        let Some(table) = self.table() else { return };
        let order = table.order();
        let room = height.saturating_sub(FRAME).max(1);
        let first = self.chosen.saturating_sub(room - 1);
        // Widths are those of all rows, so that nothing moves with the choice.
        let mut texts = table.lines(&order).into_iter();
        let sorted = table.columns[table.sort.0];
        lines.push(Line::plain(format!("{}, by {sorted}", table.title)));
        lines.extend(texts.next().map(Line::bold));
        for (at, text) in texts.enumerate().skip(first).take(room) {
            let line = if at == self.chosen { Line::reverse(text) } else { Line::plain(text) };
            lines.push(line);
        }
    }
    fn details(&self, lines: &mut Vec<Line>, old: &Sample, new: &Sample, closer: &Closer) {
        let seconds = new.at.duration_since(old.at).as_secs_f64().max(1e-3);
        let mut show = |table: &Table, title: String| {
            lines.push(Line::bold(title));
            if table.rows.is_empty() {
                lines.push(Line::plain("  none"));
            } else {
                let texts = table.lines(&table.order());
                lines.extend(texts.iter().map(|text| Line::plain(format!("  {text}"))));
            }
            lines.push(Line::plain(""));
        };
        match closer {
            Closer::Node(name) => {
                let mut table = Table::new("", &NODE, 0);
                (table.columns[0], table.sort) = ("thread", (0, false));
                for (thread, did) in node_rates(old, new, name) {
                    let clocks = new.hz * seconds;
                    table.rows.push(node_row(thread.to_string(), did, clocks, seconds));
                }
                show(&table, format!("Node {name}"));
                show(&self.next_nodes(seconds), "Next nodes".to_owned());
                let mut drops = Tables::between(old, new).drops;
                drops.rows.retain(|row| row[0] == Cell::Text(name.clone()));
                show(&drops, "Drops and other counts".to_owned());
            }
            Closer::Interface(name) => {
                let mut table = Table::new("", &["counter", "rate/s", "count"], 0);
                table.sort = (0, false);
                let before = old.interfaces.get(name);
                let now = new.interfaces.get(name).map(|of| &of.counts);
                for (counter, count) in now.into_iter().flatten() {
                    let old = before.and_then(|of| of.counts.get(counter)).unwrap_or(count);
                    table.rows.push(vec![
                        Cell::Text(counter.clone()),
                        Cell::Number(count.saturating_sub(*old) as f64 / seconds),
                        Cell::Number(*count as f64),
                    ]);
                }
                show(&table, format!("Interface {name}"));
            }
        }
    }
    /// Next nodes of packets of the chosen node.
    fn next_nodes(&self, seconds: f64) -> Table {
        let mut table = Table::new("", &["next", "packets/s", "packets"], 2);
        let [before, now] = &self.edges;
        for (name, count) in now.iter().filter(|(_, count)| *count > 0) {
            let old = before.iter().find(|(of, _)| of == name).map_or(*count, |(_, old)| *old);
            table.rows.push(vec![
                Cell::Text(name.clone()),
                Cell::Number(count.saturating_sub(old) as f64 / seconds),
                Cell::Number(*count as f64),
            ]);
        }
        table
    }
}
