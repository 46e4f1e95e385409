//! Free ports on loopback.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

/// `N` addresses on loopback that nothing listened on a moment ago.
pub fn free_addresses<const N: usize>() -> anyhow::Result<[SocketAddr; N]> {
    // All are held before any is let go, so that they differ.
    let listeners = (0..N)
        .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
        .collect::<std::io::Result<Vec<_>>>()?;
    let addresses =
        listeners.iter().map(TcpListener::local_addr).collect::<std::io::Result<Vec<_>>>()?;
    addresses.try_into().map_err(|_| anyhow::anyhow!("no {N} free ports"))
}
