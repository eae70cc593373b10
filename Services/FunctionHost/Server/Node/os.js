module.exports = {
  EOL: "\n", platform: () => "linux", type: () => "Linux", arch: () => "x64", release: () => "", hostname: () => "function", tmpdir: () => "/tmp",
  homedir: () => "/", endianness: () => "LE", cpus: () => [], totalmem: () => 0, freemem: () => 0, uptime: () => 0, loadavg: () => [0, 0, 0],
  networkInterfaces: () => ({}), userInfo: () => ({ username: "function", uid: -1, gid: -1, shell: null, homedir: "/" }), constants: { signals: {} },
};
