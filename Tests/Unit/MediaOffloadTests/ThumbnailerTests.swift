import ChildProcesses
import Foundation
import Testing

@testable import MediaOffload

struct ThumbnailerTests {
    @Test func `a picture gets a small JPEG`() async throws {
        let picture = try await Self.picture(width: 1600, height: 900)
        let thumbnail = try #require(try await Thumbnailer(size: 180).thumbnail(of: picture))
        #expect(thumbnail.starts(with: [0xff, 0xd8, 0xff]))
        #expect(thumbnail.count < 20_000)
    }

    @Test func `bytes that are no picture give none`() async throws {
        #expect(try await Thumbnailer().thumbnail(of: Array("GIF89a but not really".utf8)) == nil)
    }

    /// A PNG that libvips itself made.
    static func picture(width: Int, height: Int) async throws -> [UInt8] {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).png").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        var ppm = Array("P6 \(width) \(height) 255\n".utf8)
        for index in 0..<width * height {
            ppm += [UInt8(truncatingIfNeeded: index), UInt8(truncatingIfNeeded: index >> 8), 90]
        }
        let source = path + ".ppm"
        defer { try? FileManager.default.removeItem(atPath: source) }
        #expect(FileManager.default.createFile(atPath: source, contents: Data(ppm)))
        let run = try await CapturedRun.run("vipsthumbnail", [source, "--size", "\(width)x\(height)", "-o", path])
        #expect(run.status.isSuccess, "\(run.output)")
        return Array(try #require(FileManager.default.contents(atPath: path)))
    }
}
