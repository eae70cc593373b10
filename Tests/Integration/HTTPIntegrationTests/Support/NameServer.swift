import EventLoop
import Foundation
import Glibc

/// A name server on the loopback interface with addresses that can be changed, like the one of a container network when containers
/// come and go.
final class NameServer: Sendable {
    let port: Int
    private let descriptor: Int32
    private let addresses = Locked<[String: [String]]>([:])

    init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard descriptor >= 0, bound else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        self.descriptor = descriptor
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { [self] in serve() }
    }

    /// Sets the IPv4 addresses of the name; without any, the name is unknown.
    func set(_ name: String, _ new: [String]) { addresses.withLock { $0[name] = new } }

    /// Stops the server.
    func close() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    private func serve() {
        var buffer = [UInt8](repeating: 0, count: 512)
        while true {
            var from = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let count = withUnsafeMutablePointer(to: &from) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    recvfrom(descriptor, &buffer, buffer.count, 0, $0, &length)
                }
            }
            guard count > 12 else { break }
            let answer = answer(to: Array(buffer.prefix(count)))
            _ = withUnsafePointer(to: &from) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    sendto(descriptor, answer, answer.count, 0, $0, length)
                }
            }
        }
        Glibc.close(descriptor)
    }

    /// The question again, with its addresses (RFC 1035, 4.1) and a time to live of an hour, as in container networks.
    private func answer(to query: [UInt8]) -> [UInt8] {
        var name: [String] = []
        var position = 12
        while position < query.count, query[position] > 0 {
            let end = min(position + 1 + Int(query[position]), query.count)
            name.append(String(decoding: query[position + 1..<end], as: UTF8.self))
            position = end
        }
        let question = query[12..<min(position + 5, query.count)]
        let found = addresses.withLock { $0[name.joined(separator: "."), default: []] }
        let code: UInt8 = found.isEmpty ? 3 : 0
        var answer = query[0..<2] + [0x81, 0x80 | code, 0, 1, 0, UInt8(found.count), 0, 0, 0, 0] + question
        for address in found {
            answer += [0xc0, 12, 0, 1, 0, 1, 0, 0, 0x0e, 0x10, 0, 4]
            answer += address.split(separator: ".").compactMap { UInt8($0) }
        }
        return Array(answer)
    }
}
