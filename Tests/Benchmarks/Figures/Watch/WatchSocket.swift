import BenchmarkRunner
import CBenchmarkReferences
import Foundation
import Glibc

/// A client of a stream of changes as a bare descriptor, whose calls block.
struct WatchSocket: Sendable {
    let descriptor: Int32

    /// Opens a stream of the collection of notes.
    /// - Parameter id: the event after which it begins; `nil` for the present.
    init(_ system: RunningSystem, after id: String? = nil) throws {
        let call = """
            {"name": "watch", "service": "mongodb-atlas", "arguments": [{"database": "Bench", "collection": "\(Note.collection)"}]}
            """
        let text = Data(call.utf8).base64EncodedString().replacing("=", with: "%3D").replacing("+", with: "%2B")
        var request = "GET \(RunningSystem.callPath)?baas_request=\(text) HTTP/1.1\r\nHost: bench\r\n"
        request += "Authorization: Bearer \(system.token)\r\n"
        if let id { request += "Last-Event-ID: \(id)\r\n" }
        request += "\r\n"
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(system.functionsPort).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0, Glibc.send(descriptor, request, request.utf8.count, Int32(MSG_NOSIGNAL)) > 0 else {
            throw BenchmarkError("the stream can't be opened: \(errno)")
        }
        let head = try read(until: "\r\n\r\n")
        guard head.hasPrefix("HTTP/1.1 200") else { throw BenchmarkError(head) }
    }

    /// Reads up to a text, byte by byte.
    func read(until end: String) throws -> String {
        var text = ""
        var byte: UInt8 = 0
        while !text.hasSuffix(end) {
            guard recv(descriptor, &byte, 1, 0) == 1 else { throw BenchmarkError("the stream has ended: \(text)") }
            text.unicodeScalars.append(Unicode.Scalar(byte))
        }
        return text
    }

    func close() { Glibc.close(descriptor) }
}
