#if os(Linux)
    import EventLoop

    extension PartitaConfiguration {
        /// With our own transports, on an event loop: one of its own by default.
        public init(
            appId: String, baseURL: String, syncURL: String? = nil, directory: String, schemaVersion: Int64 = 0,
            loop: EventLoop = EventLoop(name: "partita-client")
        ) {
            self.init(
                appId: appId, baseURL: baseURL, syncURL: syncURL, directory: directory, schemaVersion: schemaVersion,
                http: LoopHTTPTransport(loop: loop), sync: LoopSyncTransport(loop: loop))
        }
    }
#else
    extension PartitaConfiguration {
        /// With URLSession.
        public init(
            appId: String, baseURL: String, syncURL: String? = nil, directory: String, schemaVersion: Int64 = 0
        ) {
            self.init(
                appId: appId, baseURL: baseURL, syncURL: syncURL, directory: directory, schemaVersion: schemaVersion,
                http: URLSessionHTTPTransport(), sync: URLSessionSyncTransport())
        }
    }
#endif
