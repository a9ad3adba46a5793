//! Seccomp: which system calls a command may make. It closes what Landlock does not know: sockets, namespaces, mounts,
//! other processes' memory, and parts of the kernel that an agent's command never needs.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use super::{launch::LaunchError, rules::Network};

/// Refused whatever the arguments.
const CLOSED: &[i64] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_process_madvise,
    // Namespaces and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    // Keys, programs in the kernel, and doors to its memory.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_syslog,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

/// Programs take these for missing and go another way. `clone3` hides its flags where no filter can look; `io_uring`
/// makes other calls without making them.
const MISSING: &[i64] =
    &[libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// Flags of `clone` that make namespaces.
const NAMESPACES: &[i32] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// `TIOCSTI` and `TIOCLINUX`: typing into a terminal on behalf of its user.
const TYPING: [i32; 2] = [0x5412, 0x541C];

/// The part of a socket's type that is not a flag.
const SOCKET_TYPE: u64 = 0xF;

/// The bit of the x32 calls of a 64-bit kernel, which the filter must know too.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// Calls that x32 has under a number of its own.
#[cfg(target_arch = "x86_64")]
const X32_NUMBERS: &[(i64, i64)] = &[
    (libc::SYS_ioctl, 514),
    (libc::SYS_ptrace, 521),
    (libc::SYS_kexec_load, 528),
    (libc::SYS_process_vm_readv, 539),
    (libc::SYS_process_vm_writev, 540),
];

type Filter = BTreeMap<i64, Vec<SeccompRule>>;

/// Restricts this thread, and all that it will start, for ever.
pub(super) fn restrict(network: Network, unix_sockets: bool) -> Result<(), LaunchError> {
    apply(closed(network, unix_sockets)?, libc::EPERM)?;
    apply(MISSING.iter().map(|call| (*call, Vec::new())).collect(), libc::ENOSYS)
}

fn closed(network: Network, unix_sockets: bool) -> Result<Filter, BackendError> {
    let mut filter: Filter = CLOSED.iter().map(|call| (*call, Vec::new())).collect();
    filter.insert(libc::SYS_socket, sockets(network, unix_sockets)?);
    let namespaces = NAMESPACES.iter().map(|flag| rule([is(0, SeccompCmpOp::MaskedEq(bits(*flag)), *flag)]));
    filter.insert(libc::SYS_clone, namespaces.collect::<Result<_, _>>()?);
    let typing = TYPING.iter().map(|request| rule([is(1, SeccompCmpOp::Eq, *request)]));
    filter.insert(libc::SYS_ioctl, typing.collect::<Result<_, _>>()?);
    Ok(filter)
}

/// An empty list refuses every socket. Pairs are another call, and stay.
fn sockets(network: Network, unix_sockets: bool) -> Result<Vec<SeccompRule>, BackendError> {
    let mut open = Vec::new();
    open.extend(unix_sockets.then_some(libc::AF_UNIX));
    if network == Network::On {
        // Names are looked up with the help of netlink.
        open.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]);
    }
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let other_family = rule(open.into_iter().map(|family| is(0, SeccompCmpOp::Ne, family)))?;
    // Netlink calls its ordinary sockets raw.
    let raw =
        rule([is(0, SeccompCmpOp::Ne, libc::AF_NETLINK), is(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), libc::SOCK_RAW)])?;
    Ok(vec![other_family, raw])
}

/// Holds if all of the conditions hold.
fn rule(
    conditions: impl IntoIterator<Item = Result<SeccompCondition, BackendError>>,
) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.into_iter().collect::<Result<_, _>>()?)
}

/// A condition on an argument. The kernel reads 32 bits of each of them, and so does the filter.
fn is(argument: u8, operator: SeccompCmpOp, value: i32) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, bits(value))
}

fn bits(value: i32) -> u64 {
    u64::from(value.cast_unsigned())
}

fn apply(filter: Filter, errno: i32) -> Result<(), LaunchError> {
    let architecture = std::env::consts::ARCH.try_into().map_err(seccompiler::Error::Backend)?;
    let action = SeccompAction::Errno(errno.cast_unsigned());
    let filter = SeccompFilter::new(also_x32(filter), SeccompAction::Allow, action, architecture)
        .and_then(TryInto::try_into)
        .map_err(seccompiler::Error::Backend)?;
    let program: BpfProgram = filter;
    Ok(apply_filter(&program)?)
}

/// The same filter for the x32 calls of a 64-bit kernel: the same work under other numbers.
#[cfg(target_arch = "x86_64")]
fn also_x32(mut filter: Filter) -> Filter {
    let same = filter.clone().into_iter().map(|(call, rules)| (call | X32, rules));
    let own = X32_NUMBERS.iter().filter_map(|(call, own)| Some((own | X32, filter.get(call)?.clone())));
    let more: Filter = same.chain(own).collect();
    filter.extend(more);
    filter
}

#[cfg(not(target_arch = "x86_64"))]
fn also_x32(filter: Filter) -> Filter {
    filter
}
