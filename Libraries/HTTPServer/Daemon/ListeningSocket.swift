import Glibc

/// Sockets that listen on one port, one for each loop; the kernel distributes connections among them (SO_REUSEPORT).
enum ListeningSocket {
    private static let backlog: Int32 = 4096

    /// - Returns: the descriptors, owned by the caller, and the port.
    /// - Throws: ``HTTPServerError`` `portInUse` or `cannotListen`.
    static func open(address: String, port: Int, count: Int) throws(HTTPServerError) -> (
        descriptors: [Int32], port: Int
    ) {
        guard let wanted = UInt16(exactly: port) else {
            throw HTTPServerError(.cannotListen, "no such port", port: port)
        }
        let resolved = try resolve(address, wanted)
        // With SO_REUSEPORT a second server would bind without an error and take half of the connections. A first bind without it
        // detects this.
        let probe = try bind(resolved, port: wanted, isShared: false)
        let chosen = boundPort(probe)
        close(probe)
        var descriptors: [Int32] = []
        do throws(HTTPServerError) {
            for _ in 0..<count {
                let descriptor = try bind(resolved, port: chosen, isShared: true)
                descriptors.append(descriptor)
                guard listen(descriptor, backlog) == 0 else { throw failure(errno, port) }
            }
        } catch {
            for descriptor in descriptors { close(descriptor) }
            throw error
        }
        return (descriptors, Int(chosen))
    }

    private static func resolve(_ address: String, _ port: UInt16) throws(HTTPServerError) -> [UInt8] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(address, String(port), &hints, &list)
        defer { if let list { freeaddrinfo(list) } }
        guard status == 0, let entry = list?.pointee, let bytes = entry.ai_addr else {
            throw HTTPServerError(
                .cannotListen, "address \(address): \(String(cString: gai_strerror(status)))", port: Int(port))
        }
        return Array(UnsafeRawBufferPointer(start: bytes, count: Int(entry.ai_addrlen)))
    }

    private static func bind(_ address: [UInt8], port: UInt16, isShared: Bool) throws(HTTPServerError) -> Int32 {
        var address = address
        // sockaddr_in and sockaddr_in6 have the port at the same offset.
        address.withUnsafeMutableBytes { $0.storeBytes(of: port.bigEndian, toByteOffset: 2, as: UInt16.self) }
        let family = Int32(address.withUnsafeBytes { $0.loadUnaligned(as: sa_family_t.self) })
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, type, 0)
        guard descriptor >= 0 else { throw failure(errno, Int(port)) }
        set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
        if isShared { set(descriptor, SOL_SOCKET, SO_REUSEPORT, 1) }
        if family == AF_INET6 { set(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
        let status = address.withUnsafeBytes { bytes in
            guard let base = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress else { return Int32(-1) }
            return Glibc.bind(descriptor, base, socklen_t(bytes.count))
        }
        guard status == 0 else {
            let code = errno
            close(descriptor)
            throw failure(code, Int(port))
        }
        return descriptor
    }

    private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func boundPort(_ descriptor: Int32) -> UInt16 {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &size) }
            return UInt16(bigEndian: UnsafeRawPointer(storage).loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        }
    }

    private static func failure(_ code: Int32, _ port: Int) -> HTTPServerError {
        HTTPServerError(code == EADDRINUSE ? .portInUse : .cannotListen, String(cString: strerror(code)), port: port)
    }
}
