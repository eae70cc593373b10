import MediaOffload

@main
enum Main {
    static func main() async { await MediaOffloadServer.main.run { try MediaOffloadServer.make(&$0) } }
}
