//! `ferrovia-agent put`, `get`, `diff`, `status`, `roles`: the store from an operator's side.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use control::cli::io_text;

use crate::desired::{self, MOST_SECTION, Order, Record, Records};
use crate::etcd::{Change, Etcd, If, Problem};
use crate::run::Shown;
use crate::signature::PrivateKey;

/// Changes that etcd takes at once.
const MOST_CHANGES: usize = 100;

/// Options of `put`.
#[derive(Default)]
pub struct Put<'a> {
    /// Minutes in which the router has to reach the store afterwards.
    pub confirm: Option<f64>,
    /// Whether it holds even if its revision is no higher.
    pub force: bool,
    /// The author.
    pub by: Option<String>,
    /// File of the key that signs it.
    pub key: Option<&'a Path>,
}

/// Text of the store, without what a terminal would act on.
fn printable(text: &str) -> String {
    let escaped = |c: char| match c {
        '\n' | '\t' => vec![c],
        c if c.is_control() => c.escape_default().collect(),
        c => vec![c],
    };
    text.chars().flat_map(escaped).collect()
}

fn store(problem: Problem) -> String {
    problem.to_string()
}

/// The keys of a router in the files of a folder: `vars`, `use` and sections.
fn folder(path: &Path, name: &str) -> Result<Records, String> {
    let failed = |path: &Path, why: &str| format!("{}: {why}", path.display());
    let mut records = Records::new();
    let entries = fs::read_dir(path).map_err(|e| failed(path, &io_text(&e)))?;
    for entry in entries {
        let file = entry.map_err(|e| failed(path, &io_text(&e)))?.path();
        let section = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if section.starts_with('.') || section.ends_with('~') {
            continue;
        }
        let about = fs::metadata(&file).map_err(|e| failed(&file, &io_text(&e)))?;
        if !about.is_file() || about.len() > MOST_SECTION as u64 {
            return Err(failed(&file, "is not a regular file of at most 1 MiB"));
        }
        if !desired::is_name(section) {
            return Err(failed(&file, "is no name of a section"));
        }
        let value = fs::read(&file).map_err(|e| failed(&file, &io_text(&e)))?;
        let key = match section {
            "vars" | "use" => format!("routers/{name}/{section}"),
            section => format!("routers/{name}/config/{section}"),
        };
        records.insert(key, Record { value, modified: 0 });
    }
    Ok(records)
}

async fn of_router(etcd: &Etcd, name: &str) -> Result<Records, String> {
    etcd.all(&format!("routers/{name}/"), true).await.map_err(store)
}

/// Adds the sets that the keys of a router name.
async fn with_sets(etcd: &Etcd, name: &str, mut records: Records) -> Result<Records, String> {
    for set in desired::sets(name, &records).map_err(|e| e.to_string())? {
        records.extend(etcd.all(&format!("sets/{set}/"), true).await.map_err(store)?);
    }
    Ok(records)
}

/// Writes the files of a folder as the desired state of a router; `desired` comes last. Returns
/// what to say.
///
/// # Errors
/// What is wrong with the files, or the store's.
pub async fn put(
    etcd: &Etcd,
    name: &str,
    path: &Path,
    options: &Put<'_>,
) -> Result<String, String> {
    let new = folder(path, name)?;
    let old = of_router(etcd, name).await?;
    let key = format!("routers/{name}/desired");
    let before = old.get(&key).map_or(0, |record| record.modified);
    let last = desired::order(name, &old).ok().flatten().map_or(0, |(order, _)| order.revision);
    let revision = last.checked_add(1).ok_or("the store has the highest revision there is")?;
    let by = options.by.clone();
    let mut order = Order { revision, by, confirm: options.confirm, ..Order::default() };
    order.force = options.force;
    let all = with_sets(etcd, name, new.clone()).await?;
    let goal = desired::resolve(name, &order, &all, None).map_err(|e| e.to_string())?;
    if let Some(file) = options.key {
        let message = desired::signed(name, &order, &goal.digest);
        order.signature = Some(PrivateKey::read(file)?.sign(&message));
    }
    order.digest = Some(goal.digest);
    let value = serde_json::to_vec(&order).map_err(|e| e.to_string())?;
    let prefix = format!("routers/{name}/");
    let is_own = |key: &&String| {
        let rest = key.strip_prefix(&prefix).unwrap_or_default();
        rest.starts_with("config/") || rest == "vars" || rest == "use"
    };
    let gone = old.keys().filter(is_own).filter(|key| !new.contains_key(*key));
    let mut changes: Vec<_> = gone.map(|key| Change::Delete(key)).collect();
    let is_new = |(key, record): &(&String, &Record)| {
        old.get(*key).is_none_or(|old| old.value != record.value)
    };
    let put = new.iter().filter(is_new);
    changes.extend(put.map(|(key, record)| Change::Put(key, &record.value, None)));
    // Another operator at the same time notices.
    let holds = [If::Modified(&key, before)];
    while changes.len() >= MOST_CHANGES {
        let rest = changes.split_off(MOST_CHANGES);
        if !etcd.change(&holds, &changes).await.map_err(store)? {
            return Err("another operator has written `desired' meanwhile".to_owned());
        }
        changes = rest;
    }
    changes.push(Change::Put(&key, &value, None));
    match etcd.change(&holds, &changes).await.map_err(store)? {
        true => Ok(format!("revision {revision}, {} lines", goal.lines.len())),
        false => Err("another operator has written `desired' meanwhile".to_owned()),
    }
}

/// Writes the files of a folder as a set; routers have it from their next `desired` on.
///
/// # Errors
/// What is wrong with the files, or the store's.
pub async fn put_set(etcd: &Etcd, set: &str, path: &Path) -> Result<String, String> {
    let files = folder(path, "set")?;
    let name = |key: &str| key.strip_prefix("routers/set/config/").map(str::to_owned);
    let sections: BTreeMap<_, _> =
        files.iter().filter_map(|(key, record)| Some((name(key)?, &record.value))).collect();
    let prefix = format!("sets/{set}/");
    let keys: Vec<_> = sections.keys().map(|section| format!("{prefix}{section}")).collect();
    if keys.len() >= MOST_CHANGES {
        return Err(format!("a set has at most {} sections", MOST_CHANGES - 1));
    }
    let found = etcd.all(&prefix, false).await.map_err(store)?;
    let gone = found.keys().filter(|key| !keys.contains(key));
    let mut changes: Vec<_> = gone.map(|key| Change::Delete(key)).collect();
    let values = keys.iter().zip(sections.values());
    changes.extend(values.map(|(key, value)| Change::Put(key, value, None)));
    match changes.len() > MOST_CHANGES {
        true => Err(format!("more than {MOST_CHANGES} sections change")),
        false => etcd.change(&[], &changes).await.map_err(store).map(|_| {
            format!("{} sections; routers take them with their next revision", keys.len())
        }),
    }
}

/// The lines that a router is to have.
///
/// # Errors
/// The store's, or what is wrong with them.
pub async fn get(etcd: &Etcd, name: &str) -> Result<String, String> {
    let records = with_sets(etcd, name, of_router(etcd, name).await?).await?;
    let sections = desired::sections(name, &records).map_err(|e| e.to_string())?;
    let shown =
        |(name, text): &(String, String)| format!("# {name}\n{}\n", printable(text.trim_end()));
    Ok(sections.iter().map(shown).collect())
}

/// The changes of `put`: `-` removes, `+` adds.
///
/// # Errors
/// What is wrong with the files, or the store's.
pub async fn diff(etcd: &Etcd, name: &str, path: &Path) -> Result<String, String> {
    let lines = |records: &Records| {
        let goal = desired::resolve(name, &Order::default(), records, None);
        goal.map(|goal| goal.lines).map_err(|e| e.to_string())
    };
    let old = with_sets(etcd, name, of_router(etcd, name).await?).await?;
    let new = with_sets(etcd, name, folder(path, name)?).await?;
    // The existing state may be invalid; then every line is new.
    let (old, new) = (lines(&old).unwrap_or_default(), lines(&new)?);
    let has = |all: &[desired::Line], text: &str| all.iter().any(|line| line.text == text);
    let gone = old.iter().filter(|line| !has(&new, &line.text));
    let gone = gone.map(|line| format!("- {}\n", line.text));
    let comes = new.iter().filter(|line| !has(&old, &line.text));
    Ok(gone.chain(comes.map(|line| format!("+ {}\n", line.text))).collect())
}

/// Names of all routers that have keys, or a state.
async fn names(etcd: &Etcd, shown: &Records) -> Result<BTreeSet<String>, Problem> {
    let desired = etcd.all("routers/", false).await?;
    let keys = desired.keys().chain(shown.keys());
    Ok(keys.filter_map(|key| key.split('/').nth(1)).map(str::to_owned).collect())
}

/// The state of all routers, or of one.
///
/// # Errors
/// The store's.
pub async fn status(etcd: &Etcd, only: Option<&str>) -> Result<String, String> {
    let one = |key: String| async move {
        etcd.range(&key, false, (None, 1)).await.map(|found| found.records).map_err(store)
    };
    let (names, shown) = match only {
        Some(only) => (BTreeSet::from([only.to_owned()]), one(format!("status/{only}")).await?),
        None => {
            let shown = etcd.all("status/", true).await.map_err(store)?;
            (names(etcd, &shown).await.map_err(store)?, shown)
        }
    };
    let mut out = String::new();
    for name in &names {
        let desired = one(format!("routers/{name}/desired")).await?;
        let record = shown.get(&format!("status/{name}"));
        if desired.is_empty() && record.is_none() && only.is_some() {
            continue;
        }
        let wanted = desired::order(name, &desired).ok().flatten();
        let wanted = wanted.map_or("-".to_owned(), |(order, _)| order.revision.to_string());
        let found = record.and_then(|r| serde_json::from_slice::<Shown>(&r.value).ok());
        let (state, applied, why) = match found {
            None => ("unreachable".to_owned(), "-".to_owned(), String::new()),
            Some(found) => {
                let status = found.status;
                let state = format!("{:?}", status.state).to_lowercase();
                let applied = status.applied.map_or("-".to_owned(), |n| n.to_string());
                let drift: String = status.drift.iter().map(|l| format!("\n    {l}")).collect();
                (state, applied, printable(&(status.why + &drift)))
            }
        };
        let name = printable(name);
        let line = format!("{name:<20}{state:<13}desired {wanted:<6}applied {applied:<6}{why}");
        // A String takes all text.
        let _ = writeln!(out, "{}", line.trim_end());
    }
    match (only, out.is_empty()) {
        (Some(only), true) => Err(format!("there is no router `{only}'")),
        _ => Ok(out),
    }
}

/// Commands of etcdctl that grant a router's agent its permissions and no others.
pub fn roles(prefix: &str, name: &str) -> String {
    let role = format!("router-{name}");
    format!(
        "etcdctl role add {role}\n\
         etcdctl role grant-permission {role} --prefix=true read {prefix}routers/{name}/\n\
         etcdctl role grant-permission {role} --prefix=true read {prefix}sets/\n\
         etcdctl role grant-permission {role} readwrite {prefix}status/{name}\n\
         etcdctl user add {name} --interactive=false --new-user-password=PASSWORD\n\
         etcdctl user grant-role {name} {role}\n"
    )
}
