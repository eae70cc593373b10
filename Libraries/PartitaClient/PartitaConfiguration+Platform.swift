#if os(Linux)
    import EventLoop

    extension PartitaConfiguration {
        /// With the transports of this package, on an event loop; by default on a new one.
        /// - Parameter certificateAuthorityFile: certificates to trust instead of the system's.
        public init(
            appId: String, baseURL: String, syncURL: String? = nil, directory: String, schemaVersion: Int64 = 0,
            loop: EventLoop = EventLoop(name: "partita-client"), certificateAuthorityFile: String? = nil
        ) {
            self.init(
                appId: appId, baseURL: baseURL, syncURL: syncURL, directory: directory, schemaVersion: schemaVersion,
                http: LoopHTTPTransport(loop: loop, certificateAuthorityFile: certificateAuthorityFile),
                sync: LoopSyncTransport(loop: loop, certificateAuthorityFile: certificateAuthorityFile))
        }
    }
#else
    extension PartitaConfiguration {
        /// With the transports of URLSession.
        public init(
            appId: String, baseURL: String, syncURL: String? = nil, directory: String, schemaVersion: Int64 = 0
        ) {
            self.init(
                appId: appId, baseURL: baseURL, syncURL: syncURL, directory: directory, schemaVersion: schemaVersion,
                http: URLSessionHTTPTransport(), sync: URLSessionSyncTransport())
        }
    }
#endif
