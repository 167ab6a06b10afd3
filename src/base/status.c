#include "base_internal.h"

const char *far_status_name(far_status status)
{
    switch (status) {
#define FAR_STATUS_NAME(name, value, text)                                                         \
    case name:                                                                                     \
        return #name;
        FAR_STATUS_LIST(FAR_STATUS_NAME)
#undef FAR_STATUS_NAME
    }
    return "FAR_ERR_UNKNOWN";
}

const char *far_status_text(far_status status)
{
    switch (status) {
#define FAR_STATUS_TEXT(name, value, text)                                                         \
    case name:                                                                                     \
        return text;
        FAR_STATUS_LIST(FAR_STATUS_TEXT)
#undef FAR_STATUS_TEXT
    }
    return "unknown status";
}

const char *far_version(void)
{
    return FAR_VERSION;
}
