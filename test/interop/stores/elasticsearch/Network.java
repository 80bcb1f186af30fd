import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.elasticsearch.action.ActionListener;
import org.elasticsearch.action.support.PlainActionFuture;
import org.elasticsearch.cluster.node.DiscoveryNode;
import org.elasticsearch.common.bytes.BytesArray;
import org.elasticsearch.common.bytes.BytesReference;
import org.elasticsearch.common.component.AbstractLifecycleComponent;
import org.elasticsearch.common.io.stream.NamedWriteableRegistry;
import org.elasticsearch.common.network.NetworkService;
import org.elasticsearch.common.settings.ClusterSettings;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.common.transport.BoundTransportAddress;
import org.elasticsearch.common.transport.TransportAddress;
import org.elasticsearch.common.util.BigArrays;
import org.elasticsearch.common.util.PageCacheRecycler;
import org.elasticsearch.common.util.concurrent.ThreadContext;
import org.elasticsearch.http.HttpBody;
import org.elasticsearch.http.HttpChannel;
import org.elasticsearch.http.HttpInfo;
import org.elasticsearch.http.HttpPreRequest;
import org.elasticsearch.http.HttpRequest;
import org.elasticsearch.http.HttpResponse;
import org.elasticsearch.http.HttpServerTransport;
import org.elasticsearch.http.HttpStats;
import org.elasticsearch.indices.breaker.CircuitBreakerService;
import org.elasticsearch.plugins.NetworkPlugin;
import org.elasticsearch.plugins.Plugin;
import org.elasticsearch.rest.AbstractRestChannel;
import org.elasticsearch.rest.ChunkedRestResponseBodyPart;
import org.elasticsearch.rest.RestRequest;
import org.elasticsearch.rest.RestResponse;
import org.elasticsearch.rest.RestStatus;
import org.elasticsearch.telemetry.tracing.Tracer;
import org.elasticsearch.threadpool.ThreadPool;
import org.elasticsearch.transport.BytesRefRecycler;
import org.elasticsearch.transport.ConnectionProfile;
import org.elasticsearch.transport.Transport;
import org.elasticsearch.transport.TransportMessageListener;
import org.elasticsearch.transport.TransportStats;
import org.elasticsearch.xcontent.NamedXContentRegistry;
import org.elasticsearch.xcontent.XContentParserConfiguration;

/**
 * Maven Central has Elasticsearch without its network module. Here Java's HTTP server passes requests to the REST
 * layer, and there is no transport to other nodes.
 */
public final class Network extends Plugin implements NetworkPlugin {
        @Override
        public Map<String, Supplier<Transport>> getTransports(
            Settings settings,
            ThreadPool threads,
            PageCacheRecycler recycler,
            CircuitBreakerService breaker,
            NamedWriteableRegistry registry,
            NetworkService network
        ) {
            return Map.of("none", NoTransport::new);
        }

        @Override
        public Map<String, Supplier<HttpServerTransport>> getHttpTransports(
            Settings settings,
            ThreadPool threads,
            BigArrays arrays,
            PageCacheRecycler recycler,
            CircuitBreakerService breaker,
            NamedXContentRegistry registry,
            NetworkService network,
            HttpServerTransport.Dispatcher dispatcher,
            BiConsumer<HttpPreRequest, ThreadContext> context,
            ClusterSettings clusterSettings,
            Tracer tracer
        ) {
            int port = Integer.parseInt(settings.get("http.port"));
            var config = XContentParserConfiguration.EMPTY.withRegistry(registry);
            return Map.of("java", () -> new Http(port, threads, new BytesRefRecycler(recycler), config, dispatcher));
        }

    private static BoundTransportAddress loopback(int port) {
        var address = new TransportAddress(InetAddress.getLoopbackAddress(), port);
        return new BoundTransportAddress(new TransportAddress[] { address }, address);
    }

    private static final class NoTransport extends AbstractLifecycleComponent implements Transport {
        private final ResponseHandlers responseHandlers = new ResponseHandlers();
        private final RequestHandlers requestHandlers = new RequestHandlers();

        @Override public void setMessageListener(TransportMessageListener listener) {}
        @Override public BoundTransportAddress boundAddress() { return loopback(9300); }
        @Override public BoundTransportAddress boundRemoteIngressAddress() { return null; }
        @Override public Map<String, BoundTransportAddress> profileBoundAddresses() { return Map.of(); }
        @Override public TransportAddress[] addressesFromString(String address) { return new TransportAddress[0]; }
        @Override public List<String> getDefaultSeedAddresses() { return List.of(); }
        @Override public TransportStats getStats() { return null; }
        @Override public ResponseHandlers getResponseHandlers() { return responseHandlers; }
        @Override public RequestHandlers getRequestHandlers() { return requestHandlers; }
        @Override protected void doStart() {}
        @Override protected void doStop() {}
        @Override protected void doClose() {}

        @Override
        public void openConnection(DiscoveryNode node, ConnectionProfile profile, ActionListener<Connection> listener) {
            listener.onFailure(new UnsupportedOperationException("there is one node"));
        }
    }

    private static final class Http extends AbstractLifecycleComponent implements HttpServerTransport {
        private final int port;
        private final ThreadPool threads;
        private final BytesRefRecycler recycler;
        private final XContentParserConfiguration config;
        private final Dispatcher dispatcher;
        private HttpServer server;

        Http(int port, ThreadPool threads, BytesRefRecycler recycler, XContentParserConfiguration config, Dispatcher dispatcher) {
            this.port = port;
            this.threads = threads;
            this.recycler = recycler;
            this.config = config;
            this.dispatcher = dispatcher;
        }

        @Override public BoundTransportAddress boundAddress() { return loopback(port); }
        @Override public HttpInfo info() { return new HttpInfo(boundAddress(), Integer.MAX_VALUE); }
        @Override public HttpStats stats() { return new HttpStats(0, 0); }
        @Override protected void doStop() { server.stop(0); }
        @Override protected void doClose() {}

        @Override
        protected void doStart() {
            try {
                server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
            server.setExecutor(Executors.newCachedThreadPool());
            server.createContext("/", this::handle);
            server.start();
        }

        private void handle(HttpExchange exchange) throws IOException {
            var body = new BytesArray(exchange.getRequestBody().readAllBytes());
            var channel = new Channel(exchange);
            var rest = RestRequest.request(config, new Request(exchange, body), channel);
            var context = threads.getThreadContext();
            try (var ignored = context.stashContext()) {
                dispatcher.dispatchRequest(rest, new Answer(rest, exchange, recycler), context);
            }
        }
    }

    private static final class Answer extends AbstractRestChannel {
        private final HttpExchange exchange;
        private final BytesRefRecycler recycler;

        Answer(RestRequest request, HttpExchange exchange, BytesRefRecycler recycler) {
            super(request, true);
            this.exchange = exchange;
            this.recycler = recycler;
        }

        @Override
        public void sendResponse(RestResponse response) {
            try (exchange; response; OutputStream body = start(response)) {
                if (!response.isChunked()) {
                    if (request.method() != RestRequest.Method.HEAD) response.content().writeTo(body);
                    return;
                }
                ChunkedRestResponseBodyPart part = response.chunkedContent();
                while (true) {
                    while (!part.isPartComplete()) {
                        try (var chunk = part.encodeChunk(1 << 16, recycler)) {
                            chunk.writeTo(body);
                        }
                    }
                    if (part.isLastPart()) return;
                    var next = new PlainActionFuture<ChunkedRestResponseBodyPart>();
                    part.getNextPart(next);
                    part = next.actionGet();
                }
            } catch (IOException e) {
                e.printStackTrace();
            }
        }

        private OutputStream start(RestResponse response) throws IOException {
            exchange.getResponseHeaders().set("X-elastic-product", "Elasticsearch");
            exchange.getResponseHeaders().set(
                "Content-Type",
                response.isChunked() ? response.chunkedContent().getResponseContentTypeString() : response.contentType()
            );
            boolean isEmpty = request.method() == RestRequest.Method.HEAD || (!response.isChunked() && response.content().length() == 0);
            exchange.sendResponseHeaders(response.status().getStatus(), isEmpty ? -1 : 0);
            return exchange.getResponseBody();
        }
    }

    private record Channel(HttpExchange exchange) implements HttpChannel {
        @Override public void sendResponse(HttpResponse response, ActionListener<Void> listener) { throw new UnsupportedOperationException(); }
        @Override public InetSocketAddress getLocalAddress() { return exchange.getLocalAddress(); }
        @Override public InetSocketAddress getRemoteAddress() { return exchange.getRemoteAddress(); }
        @Override public void close() { exchange.close(); }
        @Override public void addCloseListener(ActionListener<Void> listener) {}
        @Override public boolean isOpen() { return true; }
    }

    private record Request(HttpExchange exchange, BytesReference content) implements HttpRequest {
        @Override public RestRequest.Method method() { return RestRequest.Method.valueOf(exchange.getRequestMethod()); }
        @Override public String uri() { return exchange.getRequestURI().toString(); }
        @Override public Map<String, List<String>> getHeaders() { return exchange.getRequestHeaders(); }
        @Override public HttpBody body() { return HttpBody.fromBytesReference(content); }
        @Override public List<String> strictCookies() { return List.of(); }
        @Override public HttpVersion protocolVersion() { return HttpVersion.HTTP_1_1; }
        @Override public HttpRequest removeHeader(String header) { return this; }
        @Override public HttpResponse createResponse(RestStatus status, BytesReference body) { throw new UnsupportedOperationException(); }
        @Override public HttpResponse createResponse(RestStatus status, ChunkedRestResponseBodyPart body) { throw new UnsupportedOperationException(); }
        @Override public Exception getInboundException() { return null; }
        @Override public void release() {}
    }
}
