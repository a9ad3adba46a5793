//! A server in a real virtual machine, reached over vsock: QEMU without KVM, a kernel of Debian, and `vertebra serve` in
//! an initramfs.

use std::{
    fmt::Write as _,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf, absolute},
    process::Stdio,
};

use anyhow::{Context as _, ensure};

use crate::{
    stage::{Stage, answers},
    test::{target_dir, tools_dir},
};

/// The other end of the machine's vsock, pinned.
const VHOST: &str = "0.3.0";

/// What the kernel loads, in order.
const MODULES: [&str; 8] = [
    "drivers/virtio/virtio",
    "drivers/virtio/virtio_ring",
    "drivers/virtio/virtio_pci_modern_dev",
    "drivers/virtio/virtio_pci_legacy_dev",
    "drivers/virtio/virtio_pci",
    "net/vmw_vsock/vsock",
    "net/vmw_vsock/vmw_vsock_virtio_transport_common",
    "net/vmw_vsock/vmw_vsock_virtio_transport",
];

/// What the machine does; the test knows the port and the token.
const SERVE: &str = "exec /vertebra serve --listen vsock://any:9000 --token-file /token --dir /work \
                     --model script:/turns.jsonl --mode accept-edits";

const TEST: &str = "hostile::machine::a_session_in_a_virtual_machine_is_governed_from_outside";

pub(crate) fn run() -> anyhow::Result<()> {
    let folder = absolute(tools_dir().join("vsock"))?;
    fs::create_dir_all(&folder)?;
    get_programs(&folder)?;
    let kernel = get_kernel(&folder)?;
    ensure!(Stage::new("build", "cargo build --package vertebra-cli").passes(), "`vertebra` is not built");
    let initramfs = initramfs(&folder, &kernel)?;
    let line = "cargo test --package vertebra-server --test it -- --ignored --exact --nocapture";
    let mut test = Stage::new("test", line).arg(TEST).command();
    test.env("VERTEBRA_VM_KERNEL", kernel.image).env("VERTEBRA_VM_INITRAMFS", initramfs);
    test.env("VERTEBRA_VM_VHOST", folder.join("bin/vhost-device-vsock"));
    ensure!(test.status()?.success(), "the session in the machine was not governed");
    Ok(())
}

/// QEMU from Debian, vhost-device-vsock from the registry.
fn get_programs(folder: &Path) -> anyhow::Result<()> {
    if !answers("qemu-system-x86_64 --version") {
        let install = Stage::new("get QEMU", "apt-get install -y --no-install-recommends qemu-system-x86");
        ensure!(install.passes(), "there is no `qemu-system-x86_64` on the PATH, and the package cannot be had");
    }
    if !Stage::program("probe", folder.join("bin/vhost-device-vsock")).arg("--version").answers() {
        let install = Stage::new("get vhost-device-vsock", "cargo install --locked vhost-device-vsock --version");
        let install = install.arg(VHOST).arg("--root").arg(folder);
        ensure!(install.passes(), "vhost-device-vsock {VHOST} cannot be built");
    }
    Ok(())
}

struct Kernel {
    image: PathBuf,
    modules: PathBuf,
    busybox: PathBuf,
}

/// A kernel for virtual machines and a shell, unpacked beside the build products.
fn get_kernel(folder: &Path) -> anyhow::Result<Kernel> {
    let system = folder.join("system");
    if !system.join("bin/busybox").exists() {
        let packages = folder.join("packages");
        fs::create_dir_all(&packages)?;
        // The package without a version is empty, and names the one with a version.
        let depends = said(&Stage::new("probe", "apt-cache depends linux-image-cloud-amd64"))?;
        let named = depends.lines().find_map(|line| line.trim().strip_prefix("Depends: "));
        let named = named.context("Debian names no kernel for virtual machines: `apt-get update`")?;
        let get = Stage::new("get a kernel", "apt-get download busybox-static").arg(named).within(&packages);
        ensure!(get.passes(), "{named} and busybox-static cannot be had");
        for package in fs::read_dir(&packages)? {
            ensure!(Stage::new("unpack", "dpkg -x").arg(package?.path()).arg(&system).passes(), "it is no package");
        }
    }
    let only = |folder: PathBuf, begins: &str| -> anyhow::Result<PathBuf> {
        let mut found = fs::read_dir(&folder)?.flatten().map(|entry| entry.path());
        let is_it = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(begins));
        found.find(is_it).with_context(|| format!("there is no {begins}… in {}", folder.display()))
    };
    Ok(Kernel {
        image: only(system.join("boot"), "vmlinuz")?,
        modules: only(system.join("lib/modules"), "")?.join("kernel"),
        busybox: system.join("bin/busybox"),
    })
}

/// The machine's only disk: a shell, the modules, `vertebra` and the libraries it is linked with.
fn initramfs(folder: &Path, kernel: &Kernel) -> anyhow::Result<PathBuf> {
    let root = folder.join("root");
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    for name in ["bin", "dev", "proc", "sys", "tmp", "work"] {
        fs::create_dir_all(root.join(name))?;
    }
    fs::copy(&kernel.busybox, root.join("bin/busybox"))?;
    symlink("busybox", root.join("bin/sh"))?;
    let vertebra = target_dir().join("debug/vertebra");
    let strip = Stage::new("strip", "strip -o").arg(root.join("vertebra")).arg(&vertebra);
    ensure!(strip.passes(), "{} cannot be stripped", vertebra.display());
    for library in libraries(&vertebra)? {
        let to = root.join(library.strip_prefix("/")?);
        fs::create_dir_all(to.parent().context("a library is in a folder")?)?;
        fs::copy(&library, to).with_context(|| library.display().to_string())?;
    }
    let mut init = "#!/bin/sh\nB=/bin/busybox\n$B mount -t devtmpfs dev /dev; $B mount -t proc proc /proc; \
                    $B mount -t sysfs sys /sys; $B ip link set lo up\n"
        .to_owned();
    for module in MODULES {
        let name = module.rsplit('/').next().unwrap_or(module);
        fs::copy(kernel.modules.join(format!("{module}.ko")), root.join(format!("{name}.ko")))?;
        writeln!(init, "$B insmod /{name}.ko")?;
    }
    writeln!(init, "export HOME=/tmp PATH=/bin\n{SERVE}")?;
    write(&root.join("init"), &init, 0o755)?;
    write(&root.join("token"), "a-token-of-some-length", 0o600)?;
    let turns = "{\"call\":{\"tool\":\"bash\",\"args\":{\"command\":\"uname -r\"}}}\n{\"say\":\"done\"}\n";
    write(&root.join("turns.jsonl"), turns, 0o644)?;
    let packed = folder.join("initramfs");
    let line = format!("find . | {} cpio -o -H newc > {}", kernel.busybox.display(), packed.display());
    ensure!(Stage::new("pack", "sh -c").arg(line).within(&root).passes(), "the initramfs is not packed");
    Ok(packed)
}

/// The libraries that a program is linked with, and the loader.
fn libraries(program: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let listed =
        Stage::new("probe", "ldd").arg(program).command().stdout(Stdio::piped()).spawn()?.wait_with_output()?;
    let listed = String::from_utf8(listed.stdout)?;
    let path = |line: &str| line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from);
    Ok(listed.lines().filter_map(path).collect())
}

/// What a command prints.
fn said(stage: &Stage) -> anyhow::Result<String> {
    let printed = stage.command().stdout(Stdio::piped()).spawn()?.wait_with_output()?.stdout;
    Ok(String::from_utf8(printed)?)
}

fn write(path: &Path, text: &str, mode: u32) -> anyhow::Result<()> {
    fs::write(path, text)?;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(mode))?)
}
