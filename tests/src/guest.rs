//! A virtual machine of QEMU with the distribution's kernel, which has what the kernel of the machine
//! may lack: MPLS, tunnels of all kinds, VLANs.
//!
//! It is emulated, so it runs anywhere, slowly. Its only device is vhost-user's. What runs in it is
//! made here: busybox, `ip` and iperf3 of the machine in an archive that the kernel unpacks.

mod archive;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use archive::Archive;

/// Longest start of the kernel, emulated on a machine that has other things to do.
const BOOT: Duration = Duration::from_secs(240);

/// Longest command.
const COMMAND: Duration = Duration::from_secs(90);

/// Kernel modules that it loads, and what they need.
const MODULES: [&str; 10] = [
    "virtio_pci",
    "virtio_net",
    "8021q",
    "ipip",
    "sit",
    "ip_gre",
    "ip6_gre",
    "ip6_tunnel",
    "vxlan",
    "mpls_iptunnel",
];

/// Programs that it has beside busybox.
const PROGRAMS: [&str; 2] = ["ip", "iperf3"];

/// First program of the guest.
const INIT: &str = "#!/bin/busybox sh
/bin/busybox --install -s /bin 2>/dev/null
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in $(cat /modules/order); do insmod /modules/$module; done
stty -echo -F /dev/ttyS0
echo @started
export ENV=/etc/shell
exec sh
";

/// A running machine. Dropping it ends it.
pub struct Guest {
    child: Child,
    keys: ChildStdin,
    lines: Receiver<String>,
}

impl Guest {
    /// Boots one whose device eth0 is the other end of a vhost-user interface that listens on
    /// `socket`. None, having said why, where something is missing.
    ///
    /// # Panics
    /// When QEMU cannot be run or the guest does not start.
    pub fn boot(folder: &Path, socket: &Path) -> Option<Self> {
        let files = match files() {
            Ok(files) => files,
            Err(why) => {
                crate::skip(&why);
                return None;
            }
        };
        let initrd = folder.join("guest.cpio");
        fs::write(&initrd, files.archive).expect("a file for the guest");
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let mut child = Command::new("qemu-system-x86_64")
            .args(["-machine", "q35,accel=tcg,memory-backend=mem", "-cpu", "max", "-m", "256M"])
            .args(["-object", "memory-backend-memfd,id=mem,size=256M,share=on"])
            .arg("-chardev")
            .arg(format!("socket,id=c,path={},reconnect=1", socket.display()))
            .args(["-netdev", "vhost-user,id=n,chardev=c"])
            // With MSI-X version 7.2 crashes.
            .args(["-device", "virtio-net-pci,netdev=n,vectors=0,romfile="])
            .arg("-kernel")
            .arg(files.kernel)
            .arg("-initrd")
            .arg(&initrd)
            .args(["-append", "console=ttyS0 panic=1 quiet"])
            .args(["-display", "none", "-monitor", "none", "-serial", "stdio"])
            .stdin(Stdio::piped())
            .stdout(writer.try_clone().expect("a second handle"))
            .stderr(writer)
            .spawn()
            .expect("it is installed");
        let keys = child.stdin.take().expect("it is a pipe");
        let output = BufReader::new(reader);
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let text = output.split(b'\n').map_while(Result::ok);
            let mut texts = text.map(|line| String::from_utf8_lossy(&line).trim_end().to_owned());
            texts.try_for_each(|line| sender.send(line))
        });
        let mut guest = Self { child, keys, lines };
        guest.await_start();
        Some(guest)
    }

    /// Output of a line of its shell that succeeds.
    ///
    /// # Panics
    /// When it fails.
    pub fn run(&mut self, line: &str) -> String {
        let (is_ok, text) = self.attempt(line);
        assert!(is_ok, "`{line}` failed in the guest:\n{text}");
        text
    }

    /// Output of a line of its shell, and whether it succeeds.
    ///
    /// # Panics
    /// When it does not end.
    pub fn attempt(&mut self, line: &str) -> (bool, String) {
        writeln!(self.keys, "{{ {line} ; }} 2>&1; echo; echo @ended $?").expect("the guest runs");
        let (status, text) = self.read_to("@ended ", COMMAND);
        (status == "0", text)
    }

    /// Whether it has answers to pings of this size.
    pub fn reaches(&mut self, address: &str, size: u16) -> bool {
        let ping = if address.contains(':') { "ping6" } else { "ping" };
        let line = format!("{ping} -c 3 -i 0.3 -W 3 -s {size} {address}");
        self.attempt(&line).1.contains(" 0% packet loss")
    }

    /// Restarts its kernel, without notice.
    ///
    /// # Panics
    /// When it does not start.
    pub fn reboot(&mut self) {
        writeln!(self.keys, "reboot -f").expect("the guest runs");
        self.await_start();
    }

    fn await_start(&mut self) {
        self.read_to("@started", BOOT);
    }

    /// Reads to a mark: the text behind it, and the text before.
    fn read_to(&mut self, mark: &str, patience: Duration) -> (String, String) {
        let end = Instant::now() + patience;
        let mut text = String::new();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("no `{mark}' from the guest:\n{text}"));
            // The firmware leaves something in front of the first line.
            if let Some((_, rest)) = line.split_once(mark) {
                return (rest.to_owned(), text);
            }
            text += &line;
            text.push('\n');
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Files of a guest.
struct Files {
    kernel: PathBuf,
    archive: Vec<u8>,
}

/// The newest kernel with its modules, and programs; or what is missing.
fn files() -> Result<Files, String> {
    if Command::new("qemu-system-x86_64").arg("--version").output().is_err() {
        return Err("qemu-system-x86_64 is not installed".to_owned());
    }
    let (kernel, modules) = kernel().ok_or("no kernel in /boot with modules in /lib/modules")?;
    let mut archive = Archive::default();
    archive.add_program("busybox", &located("busybox")?)?;
    for program in PROGRAMS {
        archive.add_program(program, &located(program)?)?;
    }
    let mut order = String::new();
    for path in needed(&modules)? {
        let name = Path::new(&path).file_name().expect("it is a file").to_string_lossy();
        let content = fs::read(modules.join(&path)).map_err(|e| format!("{path}: {e}"))?;
        archive.add(&format!("modules/{name}"), 0o644, &content);
        order += &format!("{name}\n");
    }
    archive.add("modules/order", 0o644, order.as_bytes());
    for folder in ["proc", "sys", "dev", "tmp", "etc"] {
        archive.add_folder(folder);
    }
    // Its shell takes busybox's own programs before all others.
    archive.add("etc/shell", 0o644, b"PS1=\nip() { /bin/ip \"$@\"; }\n");
    archive.add("init", 0o755, INIT.as_bytes());
    Ok(Files { kernel, archive: archive.finish() })
}

fn kernel() -> Option<(PathBuf, PathBuf)> {
    let mut versions: Vec<_> = fs::read_dir("/lib/modules").ok()?.flatten().collect();
    versions.sort_by_key(fs::DirEntry::file_name);
    versions.into_iter().rev().find_map(|version| {
        let name = version.file_name().into_string().ok()?;
        let kernel = PathBuf::from(format!("/boot/vmlinuz-{name}"));
        (kernel.exists() && version.path().join("modules.dep").exists())
            .then(|| (kernel, version.path()))
    })
}

fn located(program: &str) -> Result<PathBuf, String> {
    let folders = ["/bin", "/sbin", "/usr/bin", "/usr/sbin"].map(Path::new);
    let found = folders.iter().map(|folder| folder.join(program)).find(|path| path.exists());
    found.ok_or_else(|| format!("{program} is not installed"))
}

/// Paths of all modules in an order in which they can be loaded. What is built in is in no list.
fn needed(modules: &Path) -> Result<Vec<String>, String> {
    let list = fs::read_to_string(modules.join("modules.dep")).map_err(|e| e.to_string())?;
    let mut order = Vec::new();
    for module in MODULES {
        let file = format!("/{module}.ko");
        let mut lines = list.lines().filter_map(|line| line.split_once(':'));
        let Some((path, needs)) = lines.rfind(|(path, _)| path.ends_with(&file)) else {
            continue;
        };
        for path in needs.split_whitespace().rev().chain([path]) {
            if !order.iter().any(|known| known == path) {
                order.push(path.to_owned());
            }
        }
    }
    Ok(order)
}
