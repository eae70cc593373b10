import DocumentModel
import Testing

@testable import MediaOffload

struct MediaLinkTests {
    private static let digest = String(repeating: "0a", count: 32)
    private static let link = MediaLink(
        app: "rchat", namespace: .init(database: "RChat", collection: "Chat Message"), id: "s:a/b?ö%", digest: digest)

    @Test func `a link is read as it was written, whatever the public URL is`() {
        let url = Self.link.url(base: "https://chat.example/media")
        #expect(
            url
                == "https://chat.example/media/v1/apps/rchat/media/RChat/Chat%20Message/s%3Aa%2Fb%3F%C3%B6%25/\(Self.digest)"
        )
        #expect(MediaLink(url) == Self.link)
    }

    @Test(arguments: [
        "", "https://elsewhere.example/photo.jpg", "/v1/apps/rchat/media/RChat/ChatMessage/s:1",
        "/v1/apps/rchat/media/RChat/ChatMessage/s:1/abc", "/v1/apps/rchat/sync/RChat/ChatMessage/s:1/\(digest)",
        "/v1/apps/rchat/media/RChat/ChatMessage/s:1/\(digest.uppercased())",
    ])
    func `other text is no link`(_ text: String) { #expect(MediaLink(text) == nil) }

    @Test func `only a document's own links count`() {
        let place = MediaPlace(
            app: "rchat", namespace: Self.link.namespace, documentKey: "a/b?ö%", path: "image.picture")
        #expect(place.digest(of: .string(Self.link.url(base: ""))) == Self.digest)
        var other = Self.link
        other.id = "s:other"
        #expect(place.digest(of: .string(other.url(base: ""))) == nil)
        #expect(place.digest(of: 7) == nil && place.digest(of: nil) == nil)
    }
}
