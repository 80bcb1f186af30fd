"""A Django service, for WSGI and for ASGI."""

import os

import django
from django.conf import settings
from django.http import HttpResponse
from django.urls import path

settings.configure(
    SECRET_KEY="only for this test",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies",
    MIDDLEWARE=["recalld.django.middleware", "django.contrib.sessions.middleware.SessionMiddleware"],
    RECALLD={"CONTEXT": "django_service.context", "RESPONSE_HEADER": "X-Recalld-Query-Id"},
)
django.setup()

from django.core.asgi import get_asgi_application  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from recalld import Client  # noqa: E402
from recalld.asgi import RecalldMiddleware  # noqa: E402

client = Client(os.environ["RECALLD_URL"], pipeline=os.environ["RECALLD_PIPELINE"], flush_interval=3600)


def context(request):
    return {"segments": {"tenant": request.headers.get("x-tenant")}}


@client.retriever
def search(query):
    return ["kb-1", "kb-2"]


def sync(request, query):
    request.session["seen"] = True
    search(query)
    return HttpResponse(str(os.getpid()))


async def asynchronous(request, query):
    search(query)
    return HttpResponse(str(os.getpid()))


urlpatterns = [path("sync/<query>", sync), path("async/<query>", asynchronous)]
wsgi = get_wsgi_application()
# Django has no lifespan: the middleware responds in its place, and sends the buffered items at shutdown.
asgi = RecalldMiddleware(get_asgi_application())
